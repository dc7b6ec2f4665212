// PackedBatch: sequences back to back, the only thing that reaches a model.
//
// Letters: N sequences, T tokens in all of them, special tokens included.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace biowarp {

struct PackedBatch {
  std::vector<std::int32_t> tokens;     // [T]
  std::vector<std::int64_t> cu_lens;    // [N+1] first token of each sequence; cu_lens[N] = T
  std::vector<std::int32_t> positions;  // [T] 0 at the begin token of each sequence
  std::vector<float> dropout_scale;     // [N] factor on embeddings, from the whole sequence (see add)
  std::vector<std::int64_t> source;     // [N] the caller's number of each sequence
  std::int64_t longest = 0;             // tokens of the longest sequence

  std::int64_t rows() const { return static_cast<std::int64_t>(tokens.size()); }
  std::int64_t sequences() const { return static_cast<std::int64_t>(source.size()); }
  std::int64_t length(std::int64_t n) const { return cu_lens[n + 1] - cu_lens[n]; }

  void clear();

  // Appends <cls>, residues, <eos>. `residues` [L] holds token ids, L >= 0.
  // dropout_scale is ESM-2's token-dropout compensation: (1 - 0.15 * 0.8) / (1 - masked / tokens), 0.88 without masks
  // (fair-esm model/esm2.py; HF modeling_esm.py EsmEmbeddings). The begin and end tokens keep it finite.
  void add(std::span<const std::uint8_t> residues, std::int64_t source_row);
};

}  // namespace biowarp
