#include "ops/common/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/contacts_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numbers>
#include <vector>

#include "ops/attention/contacts.h"
#include "ops/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace biowarp {
namespace HWY_NAMESPACE {
namespace {

// keys [D, padded] of one head, zeros behind the sequence
template <class In>
void pack_keys(const In* head, std::int64_t stride, std::int64_t tokens, std::int64_t width, std::int64_t padded,
               float* keys) {
  for (std::int64_t d = 0; d < width; ++d) {
    for (std::int64_t k = 0; k < tokens; ++k) keys[d * padded + k] = scalar_as_f32(head + k * stride + width + d);
    std::fill(keys + d * padded + tokens, keys + (d + 1) * padded, 0.0f);
  }
}

// S[padded] = factor * q . keys
template <class In>
void score_row(const In* q, const float* keys, std::int64_t width, std::int64_t padded, float factor, float* S) {
  const F32 d;
  for (std::int64_t k = 0; k < padded; k += 4 * kLanes) {
    VF sum[4];
    unroll<4>([&](auto j) BIOWARP_LAMBDA { sum[j] = hn::Zero(d); });
    for (std::int64_t w = 0; w < width; ++w) {
      const VF value = hn::Set(d, scalar_as_f32(q + w) * factor);
      const float* at = keys + w * padded + k;
      unroll<4>([&](auto j) BIOWARP_LAMBDA { sum[j] = hn::MulAdd(value, hn::LoadU(d, at + j * kLanes), sum[j]); });
    }
    unroll<4>([&](auto j) BIOWARP_LAMBDA { hn::StoreU(sum[j], d, S + k + j * kLanes); });
  }
}

// S[k] = 2^(S[k] - largest) for k < tokens; returns the sum
float exponentiate(float* S, std::int64_t tokens, std::int64_t padded) {
  const F32 d;
  std::fill(S + tokens, S + padded, -FLT_MAX);
  VF high = hn::Set(d, -FLT_MAX), sum = hn::Zero(d);
  for (std::int64_t k = 0; k < padded; k += kLanes) high = hn::Max(high, hn::LoadU(d, S + k));
  const VF largest = hn::MaxOfLanes(d, high);
  for (std::int64_t k = 0; k < padded; k += kLanes) {
    const VF p = exp2_f32(hn::Sub(hn::LoadU(d, S + k), largest));
    hn::StoreU(p, d, S + k);
    sum = hn::Add(sum, p);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// p = S[1 + j] * inverse: map[j] += weight p, column[j] += p; returns the sum of p. S is the row behind its
// softmax.
float add_row(const float* S, std::int64_t residues, float inverse, float weight, float* map, float* column) {
  const F32 d;
  const VF scale = hn::Set(d, inverse), w = hn::Set(d, weight);
  VF sum = hn::Zero(d);
  std::int64_t j = 0;
  for (; j + kLanes <= residues; j += kLanes) {
    const VF p = hn::Mul(hn::LoadU(d, S + 1 + j), scale);
    hn::StoreU(hn::MulAdd(w, p, hn::LoadU(d, map + j)), d, map + j);
    hn::StoreU(hn::Add(p, hn::LoadU(d, column + j)), d, column + j);
    sum = hn::Add(sum, p);
  }
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; j < residues; ++j) {
    const float p = S[1 + j] * inverse;
    map[j] += weight * p;
    column[j] += p;
    total += p;
  }
  return total;
}

template <class In>
void band_of_head(const ContactLayerArgs& args, std::int64_t h, std::int64_t first, std::int64_t end, float* column,
                  float* scratch) {
  const std::int64_t tokens = args.residues + 2, padded = (tokens + 63) / 64 * 64, width = args.head_width;
  const std::int64_t stride = args.heads * 3 * width;
  const In* head = static_cast<const In*>(args.qkv) + h * 3 * width;
  float *keys = scratch, *S = scratch + width * padded;
  pack_keys(head, stride, tokens, width, padded, keys);
  std::fill_n(column, args.residues, 0.0f);
  for (std::int64_t i = first; i < end; ++i) {
    score_row(head + (i + 1) * stride, keys, width, padded, args.scale * std::numbers::log2e_v<float>, S);
    const float sum = exponentiate(S, tokens, padded);
    args.row_sums[h * args.residues + i] =
        add_row(S, args.residues, 1.0f / sum, args.head_weight[h], args.map + i * args.residues, column);
  }
}

}  // namespace

// Rows first .. end-1 of all heads; band_sums of this band get the column sums.
void contact_band(const ContactLayerArgs& args, std::int64_t band, std::int64_t first, std::int64_t end,
                  float* scratch) {
  for (std::int64_t h = 0; h < args.heads; ++h) {
    float* column = args.band_sums + (band * args.heads + h) * args.residues;
    if (args.dtype == DType::bf16) {
      band_of_head<std::uint16_t>(args, h, first, end, column, scratch);
    } else {
      band_of_head<float>(args, h, first, end, column, scratch);
    }
  }
}

// sum[j] -= factor * r[j]
void subtract_scaled(const float* r, float factor, std::int64_t count, float* sum) {
  const F32 d;
  const VF f = hn::Set(d, factor);
  std::int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    hn::StoreU(hn::NegMulAdd(f, hn::LoadU(d, r + j), hn::LoadU(d, sum + j)), d, sum + j);
  }
  for (; j < count; ++j) sum[j] -= factor * r[j];
}

}  // namespace HWY_NAMESPACE
}  // namespace biowarp
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace biowarp {

HWY_EXPORT(contact_band);
HWY_EXPORT(subtract_scaled);

std::int64_t contact_scratch_bytes(std::int64_t head_width, std::int64_t residues) {
  const std::int64_t padded = (residues + 2 + 63) / 64 * 64;
  return (head_width + 1) * padded * static_cast<std::int64_t>(sizeof(float));
}

void add_contact_scores(Context& context, Slot scratch, const ContactLayerArgs& args) {
  cap_simd_targets();
  const std::int64_t L = args.residues;
  context.parallel_for(kContactBands, [&](Context& lane, std::int64_t band) {
    const std::int64_t first = L * band / kContactBands, end = L * (band + 1) / kContactBands;
    const OpTimer timer(lane, OpKind::attention, 2 * (end - first) * L * args.head_width * args.heads);
    HWY_DYNAMIC_DISPATCH(contact_band)(args, band, first, end, lane.scratch<float>(scratch));
  });
  for (std::int64_t band = 0; band < kContactBands; ++band) {
    const float* sums = args.band_sums + band * args.heads * L;
    for (std::int64_t i = 0; i < args.heads * L; ++i) args.row_sums[i] += sums[i];
  }
}

void finish_contacts(Context& context, const ContactFinishArgs& args) {
  cap_simd_targets();
  const std::int64_t L = args.residues;
  std::vector<float> factor(static_cast<std::size_t>(args.maps), 0.0f);  // w_h / t_h
  for (std::int64_t h = 0; h < args.maps; ++h) {
    double total = 0;
    for (std::int64_t i = 0; i < L; ++i) total += args.row_sums[h * L + i];
    if (total != 0) factor[static_cast<std::size_t>(h)] = static_cast<float>(args.weight[h] / total);
  }
  context.parallel_for(L, [&](Context&, std::int64_t i) {
    float* row = args.out + i * L;
    for (std::int64_t j = 0; j < L; ++j) row[j] = args.map[i * L + j] + args.map[j * L + i] + args.bias;
    for (std::int64_t h = 0; h < args.maps; ++h) {
      const float* r = args.row_sums + h * L;
      HWY_DYNAMIC_DISPATCH(subtract_scaled)(r, factor[static_cast<std::size_t>(h)] * r[i], L, row);
    }
    for (std::int64_t j = 0; j < L; ++j) row[j] = 1.0f / (1.0f + std::exp(-row[j]));
  });
}

}  // namespace biowarp
#endif
