// What a matrix product leaves behind for the pass that follows it.
//
// f32 and bf16 products are complete: values are f32 with the bias added. An int8 product leaves i32 sums; a
// value is
//   row_scale[m] * column_scale[n] * (sum[m,n] - row_zero[m] * column_sum[n]) + bias[n]
// with the activations quantised as x[m,k] ~ row_scale[m] * (u8[m,k] - row_zero[m]) and the weights as
// w[n,k] ~ column_scale[n] * i8[n,k].
//
// Letters: M rows of a panel, N outputs, K inputs.
#pragma once

#include <cstdint>

namespace biowarp {

struct Dequant {
  const float* row_scale = nullptr;     // [M]
  const float* row_zero = nullptr;      // [M] whole numbers
  const float* column_scale = nullptr;  // [N]
  const float* column_sum = nullptr;    // [N] sum over k of i8[n,k], whole numbers
  const float* bias = nullptr;          // [N]
};

struct Accumulator {
  const void* data = nullptr;  // [M, N] f32, or i32 when is_int8
  std::int64_t stride = 0;     // elements between rows
  bool is_int8 = false;
  Dequant dequant;  // int8 only
};

}  // namespace biowarp
