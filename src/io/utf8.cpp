#include "io/utf8.h"

namespace biowarp {

std::u32string code_points(std::string_view utf8) {
  std::u32string points;
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0u) == 0x80u && !points.empty()) {  // one more byte of the same character
      points.back() = (points.back() << 6) | (byte & 0x3fu);
    } else {
      const unsigned bits = byte < 0x80 ? 7 : byte < 0xe0 ? 5 : byte < 0xf0 ? 4 : 3;
      points += static_cast<char32_t>(byte & ((1u << bits) - 1));
    }
  }
  return points;
}

}  // namespace biowarp
