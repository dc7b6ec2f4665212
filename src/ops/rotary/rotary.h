// Rotary position embedding (Su et al. 2021) of queries and keys, half-split pairing, over the full head
// width:
//   out[j]       = v[j] cos(p f_j) - v[j + D/2] sin(p f_j)
//   out[j + D/2] = v[j + D/2] cos(p f_j) + v[j] sin(p f_j)        0 <= j < D/2, p the token's position
// fair-esm rotary_embedding.py, HF modeling_esm.py (rotate_half). Values are copied through to the output.
//
// Rows hold [H, 3, D]: query, key, value of each head in turn.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mem/context.h"
#include "ops/common/accumulator.h"

namespace biowarp {

// cos and sin of every position up to a longest one, computed in f64 and rounded once.
class RotaryTable {
 public:
  // inv_freq [D/2]; empty: 10000^(-2j/D).
  RotaryTable(std::int64_t head_width, std::span<const float> inv_freq);

  // Makes rows for positions 0 .. positions-1 available. Not thread safe.
  void reserve(std::int64_t positions);

  // [D/2] cosines, then [D/2] sines
  const float* row(std::int64_t position) const { return table_.data() + position * width_; }
  std::int64_t head_width() const { return width_; }

 private:
  std::int64_t width_;            // D
  std::vector<double> inv_freq_;  // [D/2]
  std::vector<float> table_;      // [positions, D]
};

struct RotaryArgs {
  Accumulator qkv;  // [rows, H*3*D]
  std::int64_t rows;
  std::int64_t heads;             // H
  std::int64_t head_width;        // D, even
  const std::int32_t* positions;  // [rows]
  const RotaryTable* table;       // reserved beyond every position
  void* out;                      // [rows, H*3*D] in out_dtype; may be qkv.data for f32
  DType out_dtype;                // f32 or bf16
};

void rotary_qkv(Context& lane, const RotaryArgs& args);

}  // namespace biowarp
