#include "tasks/windows.h"

#include <algorithm>
#include <cmath>

namespace biowarp {
namespace {

constexpr double kLogisticWidth = 16.0;  // residues, esm-variants' s

}  // namespace

Windows::Windows(std::int64_t chain, std::int64_t length, std::int64_t overlap)
    : length_(std::min(chain, length)), ramp_(overlap / 2) {
  const std::int64_t step = length - overlap;
  const std::int64_t count = chain <= length ? 1 : (chain - overlap + step - 1) / step;
  const std::int64_t last = chain - length_;  // start of the last window
  for (std::int64_t k = 0; k < count; ++k) starts_.push_back(count == 1 ? 0 : k * last / (count - 1));
}

double Windows::raw_weight(std::int64_t window, std::int64_t offset) const {
  const auto logistic = [this](std::int64_t from_end) {
    return 1.0 / (1.0 + std::exp((0.5 * static_cast<double>(ramp_) - static_cast<double>(from_end)) / kLogisticWidth));
  };
  const std::int64_t from_end = length_ - 1 - offset;
  double weight = 1.0;
  if (window > 0 && offset < ramp_) weight = logistic(offset);
  if (window + 1 < count() && from_end < ramp_) weight = std::min(weight, logistic(from_end));
  return weight;
}

std::vector<float> Windows::weights(std::int64_t window) const {
  std::vector<double> sum(static_cast<std::size_t>(length_),
                          0.0);  // over all windows, at this window's residues
  const std::int64_t first = start(window);
  for (std::int64_t other = 0; other < count(); ++other) {
    const std::int64_t shift = start(other) - first;
    for (std::int64_t i = std::max<std::int64_t>(0, shift); i < std::min(length_, length_ + shift); ++i) {
      sum[static_cast<std::size_t>(i)] += raw_weight(other, i - shift);
    }
  }
  std::vector<float> weights(static_cast<std::size_t>(length_));
  for (std::int64_t i = 0; i < length_; ++i) {
    const auto at = static_cast<std::size_t>(i);
    weights[at] = static_cast<float>(raw_weight(window, i) / sum[at]);
  }
  return weights;
}

}  // namespace biowarp
