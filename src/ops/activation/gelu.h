// GELU (Hendrycks, Gimpel 2016) over the result of a matrix product:
//   exact  y = x * (1 + erf(x / sqrt 2)) / 2                                   HF "gelu", fair-esm
//   tanh   y = x * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2               TransformerEngine "gelu"
//
// erf is a rational approximation with absolute error 4e-7 in f32.
#pragma once

#include <cstdint>

#include "mem/context.h"
#include "ops/common/accumulator.h"

namespace biowarp {

struct GeluArgs {
  Accumulator x;  // [rows, width]
  std::int64_t rows;
  std::int64_t width;
  bool tanh_form;
  void* y;        // [rows, width] in y_dtype; may be x.data for f32
  DType y_dtype;  // f32 or bf16
};

void gelu(Context& lane, const GeluArgs& args);
// Double arithmetic, value by value.
double gelu_reference(double x, bool tanh_form);

}  // namespace biowarp
