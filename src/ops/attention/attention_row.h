// The implementation list's row type; each attention_<name>.cpp defines one row.
#pragma once

#include <cstddef>

#include "ops/attention/attention.h"

namespace biowarp {

// Some queries of one head of one sequence: what an implementation computes at a time.
struct HeadTask {
  const void* qkv;           // query of this head at the sequence's first token; key D, value 2D elements behind it
  std::int64_t qkv_stride;   // elements between tokens
  std::int64_t length;       // tokens of the sequence, >= 1
  std::int64_t head_width;   // D
  std::int64_t first_query;  // queries first_query .. first_query + queries - 1
  std::int64_t queries;
  float scale;
  void* out;                // this head's part of the sequence's first token
  std::int64_t out_stride;  // elements between tokens
};

struct AttentionRow {
  const char* name;
  std::string (*refuse)(const AttentionDesc& desc);
  std::int64_t (*scratch_bytes)(const AttentionDesc& desc, std::int64_t longest);
  void (*run)(const HeadTask& task, DType dtype, std::byte* scratch);
  std::string why_not(const AttentionDesc& desc) const { return refuse(desc); }
};

extern const AttentionRow kAttentionAmx;
extern const AttentionRow kAttentionAvx512Bf16;
extern const AttentionRow kAttentionSimd;
extern const AttentionRow kAttentionReference;

}  // namespace biowarp
