// Throwing biowarp::Error with a formatted text: fail(ErrorKind::input, "expected {} rows, got {}", want, got).
#pragma once

#include <fmt/format.h>

#include <utility>

#include "biowarp/error.h"

namespace biowarp {

template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(kind, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> text, Args&&... args) {
  throw Error(ErrorKind::usage, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail_input(fmt::format_string<Args...> text, Args&&... args) {
  throw Error(ErrorKind::input, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace biowarp
