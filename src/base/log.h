// Messages to people, on stderr: log_warn("{} records skipped", n). Results never go through here.
// BIOWARP_LOG=debug|info|warn|error|off sets the level (default info).
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace biowarp {

enum class LogLevel { debug, info, warn, error, off };

void set_log_level(LogLevel level);
void log_line(LogLevel level, std::string_view text);

template <class... Args>
void log_debug(fmt::format_string<Args...> text, Args&&... args) {
  log_line(LogLevel::debug, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> text, Args&&... args) {
  log_line(LogLevel::info, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void log_warn(fmt::format_string<Args...> text, Args&&... args) {
  log_line(LogLevel::warn, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace biowarp
