#include "io/header_text.h"

#include <algorithm>
#include <cstddef>

#include "io/utf8.h"

namespace biowarp {

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

void split_header(std::string_view header, std::string& id, std::string& description) {
  constexpr std::string_view kWordEnds = " \t\v\f\r\n\x01";
  header = trim(header);
  const std::size_t end = std::min(header.find_first_of(kWordEnds), header.size());
  const std::string_view rest = header.substr(end);
  id = as_utf8(header.substr(0, end));
  description = as_utf8(trim(rest.substr(rest.substr(0, 1) == "\x01" ? 1 : 0)));
}

}  // namespace biowarp
