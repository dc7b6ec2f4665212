// Code points of UTF-8 text, which numpy's text arrays are made of.
#pragma once

#include <string>
#include <string_view>

namespace biowarp {

// `utf8` must be valid; record readers see to that for ids and descriptions.
std::u32string code_points(std::string_view utf8);

}  // namespace biowarp
