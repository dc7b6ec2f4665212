#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

ProgressLine::ProgressLine(std::string unit) : unit_(std::move(unit)), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::update(std::int64_t done, std::int64_t total) {
  const auto now = Clock::now();
  if (!terminal_ || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string line = total < 0 ? fmt::format("{} {}", done, unit_) : fmt::format("{} of {} {}", done, total, unit_);
  line += fmt::format(", {:.1f}/s", rate);
  if (total >= done && rate > 0) {
    line += fmt::format(", {} left", duration_text(static_cast<double>(total - done) / rate));
  }
  fmt::print(stderr, "\r\033[K{}", line);
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}
