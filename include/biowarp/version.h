// Version of the library, also printed by `biowarp --version`.
#pragma once

namespace biowarp {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace biowarp
