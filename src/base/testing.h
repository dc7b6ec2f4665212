// For tests of numerics: reproducible random numbers, buffers with guards, and the one rule of tolerance:
//   error against the f64 reference <= 2 x the error of a naive version of the same precision + a rounding floor
// A NaN anywhere fails.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace biowarp::testing {

inline std::vector<float> random_floats(std::int64_t count, std::uint32_t seed, float deviation = 1.0f) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

struct Error {
  double largest = 0;  // largest absolute difference; infinite when anything is NaN or sizes differ
  double rms = 0;      // root mean square difference
  std::int64_t where = -1;
};

inline Error error_of(std::span<const double> expected, std::span<const float> given) {
  Error error;
  if (expected.size() != given.size()) return {INFINITY, INFINITY, -1};
  double squares = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double difference = std::abs(expected[i] - static_cast<double>(given[i]));
    if (!std::isfinite(difference)) difference = INFINITY;
    if (!(difference <= error.largest)) error = {difference, 0, static_cast<std::int64_t>(i)};
    squares += difference * difference;
  }
  if (!expected.empty()) error.rms = std::sqrt(squares / static_cast<double>(expected.size()));
  return error;
}

// Empty when `given` is as good as the rule asks; otherwise what is wrong. `floor` is absolute: the rounding of the
// result type at the largest expected value.
inline std::string objection(std::span<const double> expected, std::span<const float> given,
                             std::span<const float> naive, double floor) {
  const Error ours = error_of(expected, given), theirs = error_of(expected, naive);
  if (ours.largest <= 2 * theirs.largest + floor && ours.rms <= 2 * theirs.rms + floor) return {};
  return fmt::format("largest error {:.3e} at {} (rms {:.3e}), naive {:.3e} (rms {:.3e}), floor {:.3e}", ours.largest,
                     ours.where, ours.rms, theirs.largest, theirs.rms, floor);
}

inline double largest_of(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// An output buffer filled with NaN bit patterns, with guard bytes behind it.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::int64_t count)
      : count_(count), bytes_(static_cast<std::size_t>(count) * sizeof(T) + kGuard + 64, 0xff) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    begin_ = reinterpret_cast<T*>(bytes_.data() + (64 - address % 64) % 64);
    std::memset(reinterpret_cast<char*>(begin_ + count_), 0x5a, kGuard);
  }
  T* data() { return begin_; }
  std::span<T> span() { return {begin_, static_cast<std::size_t>(count_)}; }
  bool intact() const {
    const auto* guard = reinterpret_cast<const unsigned char*>(begin_ + count_);
    return std::all_of(guard, guard + kGuard, [](unsigned char byte) { return byte == 0x5a; });
  }

 private:
  static constexpr std::size_t kGuard = 64;
  std::int64_t count_;
  std::vector<unsigned char> bytes_;
  T* begin_;
};

}  // namespace biowarp::testing
