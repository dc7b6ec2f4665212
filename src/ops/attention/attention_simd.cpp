// f32 attention with Highway (AVX2, AVX-512, NEON).
//
// Packed keys: [D, padded keys], so that one vector holds one dimension of several keys. Packed values:
// [padded keys, DV], DV = D rounded up to whole vectors, zeros behind D.
#include "ops/common/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/attention_simd.cpp"
#include <hwy/foreach_target.h>

#include <cstring>

#include "ops/attention/attention_loop.h"
#include "ops/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace biowarp {
namespace HWY_NAMESPACE {
namespace {

// Accumulators that fit the register file beside the operands.
constexpr int kAccumulators = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 24 : 12;
constexpr int kKeyVectors = kAccumulators / 6;  // keys per score kernel: 6 queries by this many vectors
constexpr std::int64_t kScoreKeys = kKeyVectors * kLanes;

constexpr int kQueries = 12;

constexpr int group_of(int vectors) { return vectors % 4 == 0 ? 4 : vectors % 3 == 0 ? 3 : vectors % 2 == 0 ? 2 : 1; }
constexpr int value_rows(int group) {  // the largest divisor of 12 whose accumulators fit
  const int fit = kAccumulators / group;
  return fit >= 12 ? 12 : fit >= 6 ? 6 : fit >= 4 ? 4 : 3;
}

struct Buffers {
  float* keys;                                     // [D, padded]
  float* values;                                   // [padded, DV]
  alignas(64) float queries[kQueries * 128];       // [12, D]
  alignas(64) float scores[kQueries * kKeyBlock];  // [12, kKeyBlock], probabilities after softmax
  alignas(64) float sums[kQueries * 128];          // [12, DV]
};

// S[6, kScoreKeys] = q[6, D] . keys[D, here .. here + kScoreKeys)
template <int kWidth>
HWY_INLINE void score_tile(const float* q, const float* keys, std::int64_t padded, float* S) {
  const F32 d;
  VF sum[6][kKeyVectors];
  unroll<6>([&](auto i)
                BIOWARP_LAMBDA { unroll<kKeyVectors>([&](auto j) BIOWARP_LAMBDA { sum[i][j] = hn::Zero(d); }); });
  for (int w = 0; w < kWidth; ++w) {
    VF key[kKeyVectors];
    unroll<kKeyVectors>([&](auto j) BIOWARP_LAMBDA { key[j] = hn::LoadU(d, keys + w * padded + j * kLanes); });
    unroll<6>([&](auto i) BIOWARP_LAMBDA {
      const VF value = hn::Set(d, q[i * kWidth + w]);
      unroll<kKeyVectors>([&](auto j) BIOWARP_LAMBDA { sum[i][j] = hn::MulAdd(value, key[j], sum[i][j]); });
    });
  }
  unroll<6>([&](auto i) BIOWARP_LAMBDA {
    unroll<kKeyVectors>([&](auto j) BIOWARP_LAMBDA { hn::StoreU(sum[i][j], d, S + i * kKeyBlock + j * kLanes); });
  });
}

// O[kRows, kGroup vectors] = O * correction + P[kRows, keys] . V[keys, kGroup vectors]; V and O rows are DV
// apart.
template <int kRows, int kGroup>
HWY_INLINE void value_tile(const float* P, const float* V, std::int64_t keys, std::int64_t DV, const float* correction,
                           float* O) {
  const F32 d;
  VF sum[kRows][kGroup];
  unroll<kRows>([&](auto i) BIOWARP_LAMBDA {
    const VF keep = hn::Set(d, correction[i]);
    unroll<kGroup>([&](auto j) BIOWARP_LAMBDA { sum[i][j] = hn::Mul(hn::LoadU(d, O + i * DV + j * kLanes), keep); });
  });
  for (std::int64_t k = 0; k < keys; ++k) {
    VF value[kGroup];
    unroll<kGroup>([&](auto j) BIOWARP_LAMBDA { value[j] = hn::LoadU(d, V + k * DV + j * kLanes); });
    unroll<kRows>([&](auto i) BIOWARP_LAMBDA {
      const VF p = hn::Set(d, P[i * kKeyBlock + k]);
      unroll<kGroup>([&](auto j) BIOWARP_LAMBDA { sum[i][j] = hn::MulAdd(p, value[j], sum[i][j]); });
    });
  }
  unroll<kRows>([&](auto i) BIOWARP_LAMBDA {
    unroll<kGroup>([&](auto j) BIOWARP_LAMBDA { hn::StoreU(sum[i][j], d, O + i * DV + j * kLanes); });
  });
}

// Largest of S[0:width), not below `start`.
HWY_INLINE float largest_score(const float* S, std::int64_t width, float start) {
  const F32 d;
  VF a = hn::Set(d, start), b = a;
  for (std::int64_t k = 0; k < width; k += 2 * kLanes) {
    a = hn::Max(a, hn::LoadU(d, S + k));
    b = hn::Max(b, hn::LoadU(d, S + k + kLanes));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
}

// S[k] = 2^((S[k] - largest) factor); returns their sum.
HWY_INLINE float exponentiate(float* S, std::int64_t width, float factor, float largest) {
  const F32 d;
  const VF f = hn::Set(d, factor), shift = hn::Set(d, largest * factor);
  VF a = hn::Zero(d), b = hn::Zero(d);
  for (std::int64_t k = 0; k < width; k += 2 * kLanes) {
    const VF p = exp2_f32(hn::MulSub(hn::LoadU(d, S + k), f, shift));
    const VF q = exp2_f32(hn::MulSub(hn::LoadU(d, S + k + kLanes), f, shift));
    hn::StoreU(p, d, S + k);
    hn::StoreU(q, d, S + k + kLanes);
    a = hn::Add(a, p);
    b = hn::Add(b, q);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
}

template <class In>
void copy_head(const In* from, std::int64_t width, std::int64_t padded_width, float* to) {
  for (std::int64_t w = 0; w < width; ++w) to[w] = scalar_as_f32(from + w);
  std::fill(to + width, to + padded_width, 0.0f);
}

// keys [kWidth, padded] from rows `stride` apart, zeros behind `length`
template <int kWidth, class In>
void pack_keys(const In* rows, std::int64_t stride, std::int64_t length, std::int64_t width, std::int64_t padded,
               float* keys) {
  constexpr int kTile = 16;
  for (std::int64_t k0 = 0; k0 < padded; k0 += kTile) {
    alignas(64) float tile[kTile][kWidth] = {};
    for (int i = 0; i < kTile && k0 + i < length; ++i) copy_head(rows + (k0 + i) * stride, width, kWidth, tile[i]);
    for (int w = 0; w < kWidth; ++w) {
      for (int i = 0; i < kTile; ++i) keys[w * padded + k0 + i] = tile[i][w];
    }
  }
}

template <int kWidth>
struct F32Kernel {
  using Buffers = HWY_NAMESPACE::Buffers;
  static constexpr int kQueries = HWY_NAMESPACE::kQueries, kQueryGroup = 6;
  static constexpr std::int64_t kKeyStep = 64;
  static constexpr std::int64_t kDV = (kWidth + kLanes - 1) / kLanes * kLanes;
  static constexpr int kGroup = group_of(static_cast<int>(kDV / kLanes));
  static constexpr int kRows = value_rows(kGroup);

  static void pack(const HeadTask& task, std::int64_t padded, Buffers& b) {
    const float* head = static_cast<const float*>(task.qkv);
    pack_keys<kWidth>(head + task.head_width, task.qkv_stride, task.length, task.head_width, padded, b.keys);
    for (std::int64_t k = 0; k < task.length; ++k) {
      copy_head(head + k * task.qkv_stride + 2 * task.head_width, task.head_width, kDV, b.values + k * kDV);
    }
  }

  static void load_queries(const HeadTask& task, std::int64_t first, int count, int rows, Buffers& b) {
    for (int i = 0; i < rows; ++i) {
      const std::int64_t token = first + std::min(i, count - 1);
      copy_head(static_cast<const float*>(task.qkv) + token * task.qkv_stride, task.head_width, kWidth,
                b.queries + i * kWidth);
    }
    std::fill_n(b.sums, rows * kDV, 0.0f);
  }

  static bool bound_scores(Buffers&, int, float, SoftmaxState*) { return false; }
  static void bounded_softmax(Buffers&, std::int64_t, std::int64_t, std::int64_t, std::int64_t, int, float,
                              SoftmaxState*) {}

  static void scores(Buffers& b, std::int64_t padded, std::int64_t key, std::int64_t width, int rows) {
    for (std::int64_t k = 0; k < width; k += kScoreKeys) {
      for (int i = 0; i < rows; i += 6) {
        score_tile<kWidth>(b.queries + i * kWidth, b.keys + key + k, padded, b.scores + i * kKeyBlock + k);
      }
    }
  }

  static float softmax(Buffers& b, int i, std::int64_t valid, std::int64_t width, float factor, SoftmaxState& state) {
    float* S = b.scores + i * kKeyBlock;
    std::fill(S + valid, S + width, -FLT_MAX);
    const float largest = largest_score(S, width, state.largest);
    const float sum = exponentiate(S, width, factor, largest);
    const float shift = std::max((state.largest - largest) * factor, -126.0f);
    const float correction = hn::GetLane(exp2_f32(hn::Set(F32(), shift)));
    state.sum = state.sum * correction + sum;
    state.largest = largest;
    return correction;
  }

  static void add_values(Buffers& b, std::int64_t key, std::int64_t valid, const float* correction, int rows) {
    constexpr int kStep = kRows;
    for (int i = 0; i < rows; i += kStep) {
      for (std::int64_t v = 0; v < kDV; v += kGroup * kLanes) {
        value_rows_tile(b, key, valid, correction, i, v, rows - i);
      }
    }
  }

  static void store(const Buffers& b, const SoftmaxState* state, const HeadTask& task, std::int64_t first, int count) {
    for (int i = 0; i < count; ++i) {
      float* out = static_cast<float*>(task.out) + (first + i) * task.out_stride;
      const float inverse = 1.0f / state[i].sum;
      for (std::int64_t w = 0; w < task.head_width; ++w) out[w] = b.sums[i * kDV + w] * inverse;
    }
  }

 private:
  static void value_rows_tile(Buffers& b, std::int64_t key, std::int64_t valid, const float* correction, int i,
                              std::int64_t v, int left) {
    const float* P = b.scores + i * kKeyBlock;
    const float* V = b.values + key * kDV + v;
    float* O = b.sums + i * kDV + v;
    if constexpr (kRows == 12) {
      if (left < 12) return value_tile<6, kGroup>(P, V, valid, kDV, correction + i, O);
    }
    value_tile<kRows, kGroup>(P, V, valid, kDV, correction + i, O);
  }
};

template <int kWidth>
void run_width(const HeadTask& task, std::byte* scratch) {
  Buffers buffers;
  buffers.keys = reinterpret_cast<float*>(scratch);
  buffers.values = buffers.keys + kWidth * padded_keys(task.length);
  attend<F32Kernel<kWidth>>(task, buffers);
}

}  // namespace

void run_f32(const HeadTask& task, std::byte* scratch) {
  for_kernel_width(task.head_width, [&](auto width) { run_width<width>(task, scratch); });
}

}  // namespace HWY_NAMESPACE
}  // namespace biowarp
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace biowarp {

HWY_EXPORT(run_f32);

namespace {

void run(const HeadTask& task, DType, std::byte* scratch) {
  cap_simd_targets();
  HWY_DYNAMIC_DISPATCH(run_f32)(task, scratch);
}

std::string refuse(const AttentionDesc& desc) {
  if (desc.dtype != DType::f32) return "f32 only";
  return desc.head_width <= 128 ? "" : "heads wider than 128";
}

// Keys take D, values D rounded up to a vector of at most 16 floats.
std::int64_t scratch_bytes(const AttentionDesc& desc, std::int64_t longest) {
  const std::int64_t width = kernel_width(desc.head_width), values = (width + 15) / 16 * 16;
  return (width + values) * padded_keys(longest) * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

const AttentionRow kAttentionSimd{"simd", refuse, scratch_bytes, run};

}  // namespace biowarp
#endif
