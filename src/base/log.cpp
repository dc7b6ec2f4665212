#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "base/environment.h"

namespace biowarp {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warn: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: return spdlog::level::off;
  }
  return spdlog::level::info;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("biowarp", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("biowarp: %^%v%$");
    made->set_level(spdlog::level::from_str(environment("BIOWARP_LOG", "info")));
    return made;
  }();
  return *instance;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(to_spdlog(level)); }

void log_line(LogLevel level, std::string_view text) {
  const bool marked = level == LogLevel::warn || level == LogLevel::error;
  const char* mark = level == LogLevel::warn ? "warning: " : "error: ";
  logger().log(to_spdlog(level), "{}{}", marked ? mark : "", text);
}

}  // namespace biowarp
