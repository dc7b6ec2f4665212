// Activations to 8 bits, row by row (weights: ops/common/quantize_channel.h):
//   u8[m,k] = round(x[m,k] / scale[m]) + zero[m],  scale = (max - min) / 255 with 0 inside [min, max]
//
// A row's codes depend on the row alone. A row with a NaN or an infinity gets a NaN scale, so that it stays
// visible.
#pragma once

#include <cstdint>

#include "mem/context.h"

namespace biowarp {

struct QuantizeRowsArgs {
  const void* x;  // [rows, width] in x_dtype
  DType x_dtype;  // f32 or bf16
  std::int64_t rows;
  std::int64_t width;   // K
  std::uint8_t* codes;  // [rows, K]
  float* scale;         // [rows]
  float* zero;          // [rows] whole numbers in 0 .. 255
};

void quantize_rows(Context& lane, const QuantizeRowsArgs& args);

}  // namespace biowarp
