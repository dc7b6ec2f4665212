// Weights to 8 bits, one output channel at a time:
//   i8[k] = round(w[k] / scale),  scale = max |w[:]| / 127
// A channel with a NaN or an infinity gets a NaN scale, so that it stays visible.
#pragma once

#include <cstdint>

namespace biowarp {

// w [width] -> codes [width]; returns the scale, *sum gets the sum of the codes (a whole number).
float quantize_channel(const float* w, std::int64_t width, std::int8_t* codes, float* sum);

}  // namespace biowarp
