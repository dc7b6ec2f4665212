#include "ops/common/quantize_channel.h"

#include <algorithm>
#include <cmath>

namespace biowarp {

float quantize_channel(const float* w, std::int64_t width, std::int8_t* codes, float* sum) {
  float largest = 0, poison = 0;  // poison stays 0 unless a weight is NaN or infinite
  for (std::int64_t k = 0; k < width; ++k) {
    largest = std::max(largest, std::abs(w[k]));
    poison += w[k] * 0.0f;
  }
  if (poison != 0) {
    std::fill_n(codes, width, std::int8_t{0});
    *sum = 0;
    return NAN;
  }
  const float scale = std::max(largest / 127.0f, 1e-30f);
  std::int64_t total = 0;
  for (std::int64_t k = 0; k < width; ++k) {
    codes[k] = static_cast<std::int8_t>(std::clamp(std::nearbyint(w[k] / scale), -127.0f, 127.0f));
    total += codes[k];
  }
  *sum = static_cast<float>(total);
  return scale;
}

}  // namespace biowarp
