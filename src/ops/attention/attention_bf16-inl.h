// What the bf16 attention kernels share: packing, online softmax, results. Included inside a region compiled for
// AVX512-BF16 (see attention_avx512_bf16.cpp, attention_amx.cpp), after immintrin.h and attention_loop.h.
//
// Packed keys: [D/2, padded keys] pairs of neighbouring dimensions; packed values: [padded keys / 2, DV] pairs of
// neighbouring keys. D and DV are padded with zeros, keys behind the sequence are zero. Probabilities are rounded to
// bf16 for the product with the values, their sum is taken before rounding.
#pragma once

#include <cmath>
#include <cstring>
#include <utility>

#include "base/half.h"
#include "ops/attention/attention_loop.h"

namespace biowarp {
namespace {

#define BIOWARP_INLINE __attribute__((always_inline))

template <class F, int... Is>
BIOWARP_INLINE inline void unroll_sequence(F&& f, std::integer_sequence<int, Is...>) {
  (f(std::integral_constant<int, Is>{}), ...);
}
template <int N, class F>
BIOWARP_INLINE inline void unroll(F&& f) {
  unroll_sequence(f, std::make_integer_sequence<int, N>{});
}

using Pair = std::uint32_t;  // two bf16, the lower one first

// 2^x, relative error 1e-4: below the rounding of a bf16 probability. x - floor(x) goes through a polynomial; scalef
// takes the floor by itself.
BIOWARP_INLINE inline __m512 exp2_bf16(__m512 x) {
  constexpr int kToFloor = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
  const __m512 part = _mm512_reduce_ps(x, kToFloor);
  __m512 p = _mm512_set1_ps(7.802445702e-02f);
  p = _mm512_fmadd_ps(p, part, _mm512_set1_ps(2.260672488e-01f));
  p = _mm512_fmadd_ps(p, part, _mm512_set1_ps(6.958335084e-01f));
  p = _mm512_fmadd_ps(p, part, _mm512_set1_ps(9.999252201e-01f));
  return _mm512_scalef_ps(p, x);
}

// to[j, i] = from[i, j] for 8 x 8 pairs; rows from_stride and to_stride apart.
BIOWARP_INLINE inline void transpose_8x8(const Pair* from, std::int64_t from_stride, Pair* to, std::int64_t to_stride) {
  __m256i row[8], two[8], four[8];
  unroll<8>([&](auto i) BIOWARP_INLINE {
    row[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i * from_stride));
  });
  unroll<4>([&](auto i) BIOWARP_INLINE {
    two[2 * i] = _mm256_unpacklo_epi32(row[2 * i], row[2 * i + 1]);
    two[2 * i + 1] = _mm256_unpackhi_epi32(row[2 * i], row[2 * i + 1]);
  });
  unroll<2>([&](auto i) BIOWARP_INLINE {
    four[4 * i] = _mm256_unpacklo_epi64(two[4 * i], two[4 * i + 2]);
    four[4 * i + 1] = _mm256_unpackhi_epi64(two[4 * i], two[4 * i + 2]);
    four[4 * i + 2] = _mm256_unpacklo_epi64(two[4 * i + 1], two[4 * i + 3]);
    four[4 * i + 3] = _mm256_unpackhi_epi64(two[4 * i + 1], two[4 * i + 3]);
  });
  unroll<4>([&](auto i) BIOWARP_INLINE {
    const __m256i low = _mm256_permute2x128_si256(four[i], four[i + 4], 0x20);
    const __m256i high = _mm256_permute2x128_si256(four[i], four[i + 4], 0x31);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * to_stride), low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + (i + 4) * to_stride), high);
  });
}

// kWidth: head width the kernel is compiled for; kDV: the same for values; kRows queries at a time.
template <int kWidth, int kDV, int kRows>
struct Bf16Block {
  static constexpr int kQueries = kRows;
  static constexpr int kPairs = kWidth / 2;

  struct Buffers {
    Pair* keys;                                   // [D/2, padded]
    Pair* values;                                 // [padded/2, DV]
    alignas(64) Pair queries[kRows * kPairs];     // [kRows, D/2]
    alignas(64) float scores[kRows * kKeyBlock];  // [kRows, kKeyBlock]
    alignas(64) std::uint16_t probabilities[kRows * kKeyBlock];
    alignas(64) float sums[kRows * kDV];  // [kRows, DV]
    float longest_key = 0;                // largest length |k| of the packed keys

    Buffers(std::byte* scratch, std::int64_t length)
        : keys(reinterpret_cast<Pair*>(scratch)), values(keys + kPairs * padded_keys(length)) {}
  };

  static std::int64_t scratch_bytes(std::int64_t longest) {
    return (kPairs + kDV / 2) * padded_keys(longest) * static_cast<std::int64_t>(sizeof(Pair));
  }

  // One row of `width` bf16 into kWidth, zeros behind.
  static void copy_row(const std::uint16_t* from, std::int64_t width, std::uint16_t* to) {
    if (width == kWidth) {
      std::memcpy(to, from, kWidth * sizeof *to);
    } else {
      std::memcpy(to, from, static_cast<std::size_t>(width) * sizeof *to);
      std::memset(to + width, 0, static_cast<std::size_t>(kWidth - width) * sizeof *to);
    }
  }

  static const std::uint16_t* token(const HeadTask& task, std::int64_t t) {
    return static_cast<const std::uint16_t*>(task.qkv) + t * task.qkv_stride;
  }

  static void pack(const HeadTask& task, std::int64_t padded, Buffers& b) {
    for (std::int64_t k0 = 0; k0 < padded; k0 += 16) {
      pack_keys(task, k0, padded, b);
      for (int i = 0; i < 16; i += 2) pack_value_pair(task, k0 + i, b.values + (k0 + i) / 2 * kDV);
    }
    b.longest_key = longest_packed_key(b.keys, padded);
  }

  static float longest_packed_key(const Pair* keys, std::int64_t padded) {
    __m512 largest = _mm512_setzero_ps();
    for (std::int64_t k = 0; k < padded; k += 16) {
      __m512 squares = _mm512_setzero_ps();
      for (int w = 0; w < kPairs; ++w) {
        const __m512bh pair = (__m512bh)_mm512_loadu_si512(keys + w * padded + k);
        squares = _mm512_dpbf16_ps(squares, pair, pair);
      }
      largest = _mm512_max_ps(largest, squares);
    }
    return std::sqrt(_mm512_reduce_max_ps(largest));
  }

  static float length_of_query(const Pair* query) {
    __m512 squares = _mm512_setzero_ps();
    for (int w = 0; w < kPairs; w += 16) {
      const auto here = static_cast<__mmask16>(kPairs - w >= 16 ? 0xffff : (1 << (kPairs - w)) - 1);
      const __m512bh pairs = (__m512bh)_mm512_maskz_loadu_epi32(here, query + w);
      squares = _mm512_dpbf16_ps(squares, pairs, pairs);
    }
    return std::sqrt(_mm512_reduce_add_ps(squares));
  }

  // Cauchy-Schwarz: a query's scores lie within +-|q| max |k|. Where that is below 2^50 after scaling, exponentials
  // relative to the bound stay within f32 and bf16, whatever the true maximum. The answer is the same wherever the
  // queries are computed, since blocks of queries are cut by position. NaN says no.
  static bool bound_scores(const Buffers& b, int count, float factor, SoftmaxState* state) {
    constexpr float kLargestExponent = 50.0f;
    bool small = true;
    for (int i = 0; i < count; ++i) {
      state[i].largest = length_of_query(b.queries + i * kPairs) * b.longest_key;
      small = small && state[i].largest * factor <= kLargestExponent;
    }
    if (!small) std::fill_n(state, count, SoftmaxState{});
    return small;
  }

  static void pack_keys(const HeadTask& task, std::int64_t k0, std::int64_t padded, Buffers& b) {
    alignas(64) Pair tile[16][kPairs] = {};
    for (int i = 0; i < 16 && k0 + i < task.length; ++i) {
      copy_row(token(task, k0 + i) + task.head_width, task.head_width, reinterpret_cast<std::uint16_t*>(tile[i]));
    }
    int w = 0;
    for (; w + 8 <= kPairs; w += 8) {
      transpose_8x8(&tile[0][w], kPairs, b.keys + w * padded + k0, padded);
      transpose_8x8(&tile[8][w], kPairs, b.keys + w * padded + k0 + 8, padded);
    }
    for (; w < kPairs; ++w) {
      for (int i = 0; i < 16; ++i) b.keys[w * padded + k0 + i] = tile[i][w];
    }
  }

  static void pack_value_pair(const HeadTask& task, std::int64_t k, Pair* out) {
    alignas(64) std::uint16_t two[2][kDV] = {};
    for (int i = 0; i < 2 && k + i < task.length; ++i) {
      std::memcpy(two[i], token(task, k + i) + 2 * task.head_width, static_cast<std::size_t>(task.head_width) * 2);
    }
    for (int v = 0; v < kDV; v += 16) {
      const __m512i low = _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(&two[0][v])));
      const __m512i high = _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(&two[1][v])));
      _mm512_storeu_si512(out + v, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
    }
  }

  static void load_queries(const HeadTask& task, std::int64_t first, int count, int rows, Buffers& b) {
    for (int i = 0; i < rows; ++i) {
      copy_row(token(task, first + std::min(i, count - 1)), task.head_width,
               reinterpret_cast<std::uint16_t*>(b.queries + i * kPairs));
    }
    std::memset(b.sums, 0, static_cast<std::size_t>(rows * kDV) * sizeof(float));
  }

  // Exact where nothing has to be corrected: no earlier keys, or the same maximum.
  static float correction_of(const SoftmaxState& state, float largest, float factor) {
    if (state.largest == largest) return 1.0f;
    return state.sum == 0.0f ? 0.0f : std::exp2((state.largest - largest) * factor);
  }

  static float softmax(Buffers& b, int i, std::int64_t valid, std::int64_t width, float factor, SoftmaxState& state) {
    float* S = b.scores + i * kKeyBlock;
    std::fill(S + valid, S + width, -FLT_MAX);
    __m512 high[2];
    unroll<2>([&](auto j) BIOWARP_INLINE { high[j] = _mm512_set1_ps(state.largest); });
    for (std::int64_t k = 0; k < width; k += 32) {
      unroll<2>([&](auto j) BIOWARP_INLINE { high[j] = _mm512_max_ps(high[j], _mm512_loadu_ps(S + k + j * 16)); });
    }
    const float largest = _mm512_reduce_max_ps(_mm512_max_ps(high[0], high[1]));
    const float sum = exponentiate(S, b.probabilities + i * kKeyBlock, width, factor, largest);
    const float correction = correction_of(state, largest, factor);
    state.sum = state.sum * correction + sum;
    state.largest = largest;
    return correction;
  }

  static float exponentiate(const float* S, std::uint16_t* P, std::int64_t width, float factor, float largest) {
    const __m512 f = _mm512_set1_ps(factor), shift = _mm512_set1_ps(largest * factor);
    __m512 low_sum = _mm512_setzero_ps(), high_sum = low_sum;
    for (std::int64_t k = 0; k < width; k += 32) {
      const __m512 low = exp2_bf16(_mm512_fmsub_ps(_mm512_loadu_ps(S + k), f, shift));
      const __m512 high = exp2_bf16(_mm512_fmsub_ps(_mm512_loadu_ps(S + k + 16), f, shift));
      low_sum = _mm512_add_ps(low_sum, low);
      high_sum = _mm512_add_ps(high_sum, high);
      _mm512_storeu_si512(P + k, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    }
    return _mm512_reduce_add_ps(_mm512_add_ps(low_sum, high_sum));
  }

  static void store(const Buffers& b, const SoftmaxState* state, const HeadTask& task, std::int64_t first, int count) {
    for (int i = 0; i < count; ++i) {
      auto* out = static_cast<std::uint16_t*>(task.out) + (first + i) * task.out_stride;
      const __m512 inverse = _mm512_set1_ps(1.0f / state[i].sum);
      alignas(64) std::uint16_t row[kDV];
      for (std::int64_t v = 0; v < kDV; v += 16) {
        const __m512 value = _mm512_mul_ps(_mm512_load_ps(b.sums + i * kDV + v), inverse);
        _mm256_store_si256(reinterpret_cast<__m256i*>(row + v), (__m256i)_mm512_cvtneps_pbh(value));
      }
      std::memcpy(out, row, static_cast<std::size_t>(task.head_width) * sizeof *out);
    }
  }
};

}  // namespace
}  // namespace biowarp
