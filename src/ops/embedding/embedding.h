// Token embedding with ESM-2's token dropout (see PackedBatch::add):
//   x[t,c] = table[tokens[t], c] * scale[n]     n the sequence of token t
//   x[t,c] = 0                                  where tokens[t] == mask_token
// Without token dropout scale is 1 and no row is zeroed. Rows T .. padded_rows-1 are set to zero.
// Source: fair-esm model/esm2.py, HF modeling_esm.py EsmEmbeddings.
#pragma once

#include <cstdint>
#include <span>

#include "mem/context.h"

namespace biowarp {

struct EmbeddingArgs {
  const float* table;                     // [V, C]
  std::int64_t width;                     // C
  std::span<const std::int32_t> tokens;   // [T], each in 0 .. V-1
  std::span<const std::int64_t> cu_lens;  // [N+1]
  std::span<const float> scale;           // [N]
  bool token_dropout;
  std::int32_t mask_token;
  std::int64_t padded_rows;  // >= T
  float* x;                  // [padded_rows, C]
};

void embed_tokens(Context& context, const EmbeddingArgs& args);

}  // namespace biowarp
