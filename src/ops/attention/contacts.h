// Attention probabilities of one protein summed into one contact map, head by head, without storing a map per
// head.
//
// With a_h[i,j] the probability (softmax over all L+2 tokens) of residue i looking at residue j, ESM's
// contact head is (Rao et al. 2020; fair-esm modules.py ContactPredictionHead; HF EsmContactPredictionHead)
//   s_h = a_h + a_h^T                                   symmetrise
//   c_h[i,j] = s_h[i,j] - r_h[i] r_h[j] / t_h           average product correction, r row sums and t the sum
//   of s_h contact[i,j] = sigmoid(bias + sum_h w_h c_h[i,j])   h over all layers and heads
// add_contact_scores adds  sum_h w_h a_h  of one layer to a map and stores r_h; finish_contacts does the
// rest. Memory: one [L, L] map and one row of L per head. Bits do not depend on the number of threads: rows
// are cut into kContactBands bands, always the same.
#pragma once

#include <cstdint>

#include "mem/context.h"

namespace biowarp {

constexpr std::int64_t kContactBands = 16;

struct ContactLayerArgs {
  const void* qkv;          // [L+2, H*3*D] begin token, residues, end token
  DType dtype;              // f32 or bf16
  std::int64_t residues;    // L >= 1
  std::int64_t heads;       // H
  std::int64_t head_width;  // D <= 128
  float scale;
  const float* head_weight;  // [H] w_h
  float* map;                // [L, L] +=
  float* row_sums;           // [H, L] r_h of this layer, written
  float* band_sums;          // [kContactBands, H, L] working memory
};

// Working memory per worker.
std::int64_t contact_scratch_bytes(std::int64_t head_width, std::int64_t residues);

void add_contact_scores(Context& context, Slot scratch, const ContactLayerArgs& args);

struct ContactFinishArgs {
  const float* map;       // [L, L] sum of w_h a_h over all layers
  const float* row_sums;  // [layers*H, L]
  const float* weight;    // [layers*H]
  std::int64_t maps;      // layers*H
  std::int64_t residues;  // L
  float bias;
  float* out;  // [L, L], apart from map
};

void finish_contacts(Context& context, const ContactFinishArgs& args);

}  // namespace biowarp
