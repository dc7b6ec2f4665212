#include "tasks/peak.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include "ops/gemm/gemm.h"

namespace biowarp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kWidth = 512;  // 1 MiB of f32 weights
constexpr std::chrono::milliseconds kMeasured{100};
constexpr int kCallsBetweenLooks = 16;  // at the clock

// x [kPanelRows, kWidth] of a type of up to four bytes, y [kPanelRows, kWidth]; all values small and not zero
double rate_of_one_worker(Context& lane, const GemmWeights& weights) {
  std::vector<float> x(static_cast<std::size_t>(kPanelRows * kWidth)), y(x.size());
  std::memset(x.data(), 0x3c, x.size() * sizeof(float));
  const auto start = Clock::now();
  std::int64_t calls = 0;
  while (Clock::now() - start < kMeasured) {
    for (int i = 0; i < kCallsBetweenLooks; ++i) gemm(lane, weights, x.data(), kPanelRows, y.data());
    calls += kCallsBetweenLooks;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return static_cast<double>(calls * 2 * kPanelRows * kWidth * kWidth) / seconds;
}

}  // namespace

double measure_peak(Context& context, Precision precision) {
  const auto weights = pack_gemm(
      {kWidth, kWidth, precision},
      [](std::int64_t, std::int64_t count, float* out) { std::fill_n(out, count * kWidth, 0.01f); }, nullptr);
  std::vector<double> rates(static_cast<std::size_t>(context.workers()), 0.0);
  context.parallel_for(context.workers(), [&](Context& lane, std::int64_t worker) {
    rates[static_cast<std::size_t>(worker)] = rate_of_one_worker(lane, *weights);
  });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace biowarp
