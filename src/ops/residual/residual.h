// x[r,c] += y[r,c], y being the result of a matrix product; also the plain conversion of such a result to
// f32.
#pragma once

#include <cstdint>

#include "mem/context.h"
#include "ops/common/accumulator.h"

namespace biowarp {

struct ResidualArgs {
  Accumulator y;  // [rows, width]
  std::int64_t rows;
  std::int64_t width;  // C
  float* x;            // [rows, C] residual stream
};

void add_residual(Context& lane, const ResidualArgs& args);

// x[r,c] = y[r,c]
void store_result(Context& lane, const ResidualArgs& args);

}  // namespace biowarp
