// Layer normalisation of rows (Ba et al. 2016), biased variance, in f32:
//   y[r,c] = (x[r,c] - mean(x[r,:])) / sqrt(var(x[r,:]) + eps) * weight[c] + bias[c]
//
// The sums run over a fixed number of partial sums in a fixed order: a row's bits depend on the row alone.
#pragma once

#include <cstdint>

#include "mem/context.h"

namespace biowarp {

struct LayerNormArgs {
  const float* x;  // [rows, width]
  std::int64_t rows;
  std::int64_t width;   // C >= 1
  const float* weight;  // [C]
  const float* bias;    // [C]
  float eps;
  void* y;        // [rows, C] in y_dtype; may be x itself when y_dtype is f32
  DType y_dtype;  // f32 or bf16
};

// The row that serves: "simd" (Highway).
void layernorm(Context& lane, const LayerNormArgs& args);
// Plain loops in f64.
void layernorm_reference(const LayerNormArgs& args);

}  // namespace biowarp
