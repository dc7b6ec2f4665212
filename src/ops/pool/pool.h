// Pooling of the rows of each sequence into one row.
//
//   mean  out[n] = mean of rows 1 .. len-2 (residues only), summed in f64 in row order
//   max   out[n] = column maximum of rows 1 .. len-2
//   cls   out[n] = row 0          eos  out[n] = row len-1
//
// Formula source: fair-esm scripts/extract.py (mean over 1 : L+1). A sequence without residues gives zeros
// for mean and max.
#pragma once

#include <cstdint>
#include <span>

#include "mem/context.h"

namespace biowarp {

struct PoolArgs {
  const float* hidden;                    // [T, C]
  std::span<const std::int64_t> cu_lens;  // [N+1]
  std::int64_t width;                     // C
  Pooling pooling;
  float* out;               // [N, out_stride] first C of each row written; must not overlap hidden
  std::int64_t out_stride;  // elements between rows of out, >= C
};

void pool_rows(Context& context, const PoolArgs& args);

}  // namespace biowarp
