// UTF-8 as file formats demand it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace biowarp {

bool is_utf8(std::string_view text);

// `text` itself when it is UTF-8; otherwise its bytes read as Latin-1, which is what older exports hold.
std::string as_utf8(std::string_view text);

// Code points of UTF-8 text.
std::u32string code_points(std::string_view utf8);

}  // namespace biowarp
