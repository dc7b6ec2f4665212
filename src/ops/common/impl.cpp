#include "ops/common/impl.h"

#include <algorithm>

namespace biowarp {

std::string forced_row(std::string_view op) {
  const std::string all = environment("BIOWARP_FORCE");
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find(',', begin), all.size());
    const std::string_view entry = std::string_view(all).substr(begin, end - begin);
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && entry.substr(0, equals) == op) return std::string(entry.substr(equals + 1));
    begin = end + 1;
  }
  return {};
}

bool trace_dispatch() {
  static const bool on = environment("BIOWARP_TRACE").find("dispatch") != std::string::npos;
  return on;
}

}  // namespace biowarp
