// bf16 attention with AVX512-BF16 dot products (f32 sums).
#include <cmath>
#include <cstring>
#include <utility>

#include "base/cpu.h"
#include "base/half.h"
#include "ops/attention/attention_loop.h"

#if defined(__x86_64__)
#include <immintrin.h>

// Compiled for machines that have these instructions; refuse() keeps it from the others. Everything that is shared with
// other files is included above, so that none of it is compiled for them.
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
// g++ 12 takes the undefined operands inside its own intrinsics for uninitialised variables of ours.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

#include "ops/attention/attention_bf16-inl.h"

namespace biowarp {
namespace {

// sum[6, kVectors] = q[6, D] . keys[D, kVectors * 16], in registers
template <int kPairs, int kVectors>
BIOWARP_INLINE inline void multiply_scores(const Pair* q, const Pair* keys, std::int64_t padded,
                                           __m512 (&sum)[6][kVectors]) {
  unroll<6>([&](auto i)
                BIOWARP_INLINE { unroll<kVectors>([&](auto j) BIOWARP_INLINE { sum[i][j] = _mm512_setzero_ps(); }); });
#pragma GCC unroll 1
  for (int w = 0; w < kPairs; ++w) {
    __m512i key[kVectors];
    unroll<kVectors>([&](auto j) BIOWARP_INLINE { key[j] = _mm512_loadu_si512(keys + w * padded + j * 16); });
    unroll<6>([&](auto i) BIOWARP_INLINE {
      const __m512bh value = (__m512bh)_mm512_set1_epi32(static_cast<int>(q[i * kPairs + w]));
      unroll<kVectors>([&](auto j)
                           BIOWARP_INLINE { sum[i][j] = _mm512_dpbf16_ps(sum[i][j], value, (__m512bh)key[j]); });
    });
  }
}

template <int kPairs, int kVectors>
BIOWARP_INLINE inline void score_tile(const Pair* q, const Pair* keys, std::int64_t padded, float* S) {
  __m512 sum[6][kVectors];
  multiply_scores<kPairs>(q, keys, padded, sum);
  unroll<6>([&](auto i) BIOWARP_INLINE {
    unroll<kVectors>([&](auto j) BIOWARP_INLINE { _mm512_storeu_ps(S + i * kKeyBlock + j * 16, sum[i][j]); });
  });
}

// The same, and at once P = 2^((S - largest) factor) in bf16 for the first `valid` keys, zero for the others. The sums
// of each row grow by its exponentials, lane by lane in `partial` [6, 16].
template <int kPairs, int kVectors>
BIOWARP_INLINE inline void probability_tile(const Pair* q, const Pair* keys, std::int64_t padded, std::int64_t valid,
                                            float factor, const SoftmaxState* state, std::uint16_t* P, float* partial) {
  __m512 sum[6][kVectors];
  multiply_scores<kPairs>(q, keys, padded, sum);
  const __m512 f = _mm512_set1_ps(factor);
  const std::uint64_t lanes = valid >= kVectors * 16 ? ~0ull : (1ull << valid) - 1;
  unroll<6>([&](auto i) BIOWARP_INLINE {
    const __m512 shift = _mm512_set1_ps(state[i].largest * factor);
    __m512 total = _mm512_load_ps(partial + i * 16);
    unroll<kVectors>([&](auto j) BIOWARP_INLINE {
      const auto here = static_cast<__mmask16>(lanes >> (16 * j));
      sum[i][j] = _mm512_maskz_mov_ps(here, exp2_bf16(_mm512_fmsub_ps(sum[i][j], f, shift)));
      total = _mm512_add_ps(total, sum[i][j]);
    });
    _mm512_store_ps(partial + i * 16, total);
    unroll<kVectors / 2>([&](auto j) BIOWARP_INLINE {
      _mm512_storeu_si512(P + i * kKeyBlock + j * 32, (__m512i)_mm512_cvtne2ps_pbh(sum[i][2 * j + 1], sum[i][2 * j]));
    });
  });
}

// O[kRows, kGroup * 16] = O * correction + P[kRows, keys] . V[keys, kGroup * 16]; keys in pairs, O and V rows
// DV apart
template <int kRows, int kGroup>
BIOWARP_INLINE inline void value_tile(const std::uint16_t* P, const Pair* V, std::int64_t keys, std::int64_t DV,
                                      const float* correction, float* O) {
  __m512 sum[kRows][kGroup];
  unroll<kRows>([&](auto i) BIOWARP_INLINE {
    const __m512 keep = _mm512_set1_ps(correction[i]);
    unroll<kGroup>([&](auto j)
                       BIOWARP_INLINE { sum[i][j] = _mm512_mul_ps(_mm512_loadu_ps(O + i * DV + j * 16), keep); });
  });
#pragma GCC unroll 1
  for (std::int64_t k = 0; k < keys; k += 2) {
    __m512i value[kGroup];
    unroll<kGroup>([&](auto j) BIOWARP_INLINE { value[j] = _mm512_loadu_si512(V + k / 2 * DV + j * 16); });
    unroll<kRows>([&](auto i) BIOWARP_INLINE {
      int pair;
      std::memcpy(&pair, P + i * kKeyBlock + k, sizeof pair);
      const __m512bh p = (__m512bh)_mm512_set1_epi32(pair);
      unroll<kGroup>([&](auto j) BIOWARP_INLINE { sum[i][j] = _mm512_dpbf16_ps(sum[i][j], p, (__m512bh)value[j]); });
    });
  }
  unroll<kRows>([&](auto i) BIOWARP_INLINE {
    unroll<kGroup>([&](auto j) BIOWARP_INLINE { _mm512_storeu_ps(O + i * DV + j * 16, sum[i][j]); });
  });
}

template <int kWidth>
struct Bf16Kernel : Bf16Block<kWidth, (kWidth + 15) / 16 * 16, 12> {
  using Base = Bf16Block<kWidth, (kWidth + 15) / 16 * 16, 12>;
  using Buffers = typename Base::Buffers;
  using Base::kPairs;
  static constexpr int kQueryGroup = 6;
  static constexpr std::int64_t kKeyStep = 32;
  static constexpr std::int64_t kDV = (kWidth + 15) / 16 * 16;
  static constexpr int kVectors = static_cast<int>(kDV / 16);
  static constexpr int kGroup = kVectors > 4 ? 4 : kVectors;
  static constexpr int kRows = kGroup <= 2 ? 12 : 6;

  static void scores(Buffers& b, std::int64_t padded, std::int64_t key, std::int64_t width, int rows) {
    for (std::int64_t k = 0; k < width; k += 64) {
      for (int i = 0; i < rows; i += 6) {
        const Pair *q = b.queries + i * kPairs, *keys = b.keys + key + k;
        float* S = b.scores + i * kKeyBlock + k;
        width - k >= 64 ? score_tile<kPairs, 4>(q, keys, padded, S) : score_tile<kPairs, 2>(q, keys, padded, S);
      }
    }
  }

  static void bounded_softmax(Buffers& b, std::int64_t padded, std::int64_t key, std::int64_t valid, std::int64_t width,
                              int rows, float factor, SoftmaxState* state) {
    alignas(64) float partial[Base::kQueries * 16] = {};
    for (std::int64_t k = 0; k < width; k += 64) {
      for (int i = 0; i < rows; i += 6) {
        const Pair *q = b.queries + i * kPairs, *keys = b.keys + key + k;
        std::uint16_t* P = b.probabilities + i * kKeyBlock + k;
        if (width - k >= 64) {
          probability_tile<kPairs, 4>(q, keys, padded, valid - k, factor, state + i, P, partial + i * 16);
        } else {
          probability_tile<kPairs, 2>(q, keys, padded, valid - k, factor, state + i, P, partial + i * 16);
        }
      }
    }
    for (int i = 0; i < rows; ++i) state[i].sum += _mm512_reduce_add_ps(_mm512_load_ps(partial + i * 16));
  }

  static void add_values(Buffers& b, std::int64_t key, std::int64_t valid, const float* correction, int rows) {
    for (int i = 0; i < rows; i += kRows) {
      for (std::int64_t v = 0; v < kDV; v += kGroup * 16) {
        const std::uint16_t* P = b.probabilities + i * kKeyBlock;
        const Pair* V = b.values + key / 2 * kDV + v;
        float* O = b.sums + i * kDV + v;
        if (kRows == 12 && rows == 6) {
          value_tile<6, kGroup>(P, V, valid, kDV, correction + i, O);
        } else {
          value_tile<kRows, kGroup>(P, V, valid, kDV, correction + i, O);
        }
      }
    }
  }
};

template <int kWidth>
void run_width(const HeadTask& task, std::byte* scratch) {
  typename Bf16Kernel<kWidth>::Buffers buffers(scratch, task.length);
  attend<Bf16Kernel<kWidth>>(task, buffers);
}

}  // namespace
}  // namespace biowarp
#pragma GCC diagnostic pop
#pragma GCC pop_options
#endif

namespace biowarp {
namespace {

#if defined(__x86_64__)
void run(const HeadTask& task, DType, std::byte* scratch) {
  for_kernel_width(task.head_width, [&](auto width) { run_width<width>(task, scratch); });
}

std::int64_t scratch_bytes(const AttentionDesc& desc, std::int64_t longest) {
  std::int64_t bytes = 0;
  for_kernel_width(desc.head_width, [&](auto width) { bytes = Bf16Kernel<width>::scratch_bytes(longest); });
  return bytes;
}
#else
void run(const HeadTask&, DType, std::byte*) {}
std::int64_t scratch_bytes(const AttentionDesc&, std::int64_t) { return 0; }
#endif

std::string refuse(const AttentionDesc& desc) {
  if (desc.dtype != DType::bf16) return "bf16 only";
  if (!cpu_features().avx512_bf16) return "needs AVX512-BF16";
  return desc.head_width <= 128 ? "" : "heads wider than 128";
}

}  // namespace

const AttentionRow kAttentionAvx512Bf16{"avx512_bf16", refuse, scratch_bytes, run};

}  // namespace biowarp
