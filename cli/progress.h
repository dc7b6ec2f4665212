// A progress line on stderr with rate and remaining time; silent when stderr is not a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

class ProgressLine {
 public:
  // `unit` in the plural: "sequences".
  explicit ProgressLine(std::string unit);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // False when stderr is not a terminal.
  bool visible() const { return terminal_; }
  // total < 0: not known. Redraws at most ten times a second.
  void update(std::int64_t done, std::int64_t total);
  // Wipes the line, so that other messages start in column 0.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string unit_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_;
};

// "12 s", "3 min 05 s", "2 h 07 min".
std::string duration_text(double seconds);
