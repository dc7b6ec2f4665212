#include "io/utf8.h"

#include <cstddef>

namespace biowarp {
namespace {

struct Decoded {
  char32_t point = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// The first code point of non-empty text. Overlong forms, surrogates and values above U+10FFFF are no UTF-8.
Decoded decode(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  char32_t point = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0u) != 0x80u) return {};
    point = (point << 6) | (next & 0x3fu);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kSmallest[bytes] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return {};
  return {point, bytes};
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = decode(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xc0u | (byte >> 6));
      out += static_cast<char>(0x80u | (byte & 0x3fu));
    }
  }
  return out;
}

std::u32string code_points(std::string_view utf8) {
  std::u32string points;
  while (!utf8.empty()) {
    const Decoded next = decode(utf8);
    points += next.bytes ? next.point : U'\ufffd';
    utf8.remove_prefix(next.bytes ? next.bytes : 1);
  }
  return points;
}

}  // namespace biowarp
