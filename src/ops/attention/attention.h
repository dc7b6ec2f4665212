// Exact attention over packed sequences, non-causal, the scores never stored as a whole:
//   out[t,h,:] = sum_s softmax_s(scale * q[t,h,:] . k[s,h,:]) v[s,h,:]      s over the tokens of t's own
//   sequence
//
// Online softmax in f32 over blocks of keys (Milakov, Gimelshein 2018; Dao et al. 2022). A row's bits depend
// on its own sequence alone: not on batch mates, threads, or how queries are cut into chunks.
//
// Rows of qkv hold [H, 3, D] (query, key, value of each head in turn), rows of out [H, D].
// Implementations, best first: amx (bf16), avx512_bf16 (bf16), simd (f32, Highway), reference (f64 sums, either type).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mem/context.h"

namespace biowarp {

struct AttentionDesc {
  DType dtype = DType::f32;     // of qkv and out: f32 or bf16
  std::int64_t heads = 0;       // H
  std::int64_t head_width = 0;  // D, 1 .. 128
};

struct AttentionArgs {
  const void* qkv;                        // [T, H*3*D]
  std::span<const std::int64_t> cu_lens;  // [N+1] token offsets, cu_lens[N] = T
  float scale;                            // > 0
  void* out;                              // [T, H*D]; rows of no sequence are left alone
};

struct AttentionRow;

// A chosen implementation.
class Attention {
 public:
  explicit Attention(const AttentionDesc& desc);

  const AttentionDesc& desc() const { return desc_; }
  const char* implementation() const;
  // Scratch per worker for sequences of up to `longest` tokens.
  std::int64_t scratch_bytes(std::int64_t longest) const;
  // `scratch` must have been booked with scratch_bytes(longest) for the longest sequence of the batch.
  void run(Context& context, Slot scratch, const AttentionArgs& args) const;

 private:
  AttentionDesc desc_;
  const AttentionRow* row_;
};

std::vector<std::string> attention_rows();
std::string attention_objection(const std::string& row, const AttentionDesc& desc);

}  // namespace biowarp
