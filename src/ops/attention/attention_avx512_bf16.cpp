// bf16 attention with AVX512-BF16 dot products (f32 sums). Probabilities are rounded to bf16 for the product
// with the values, their sum is taken before rounding.
//
// Packed keys: [D/2, padded keys] pairs of neighbouring dimensions; packed values: [padded keys / 2, DV]
// pairs of neighbouring keys, DV = D rounded up to 16, zeros behind D and behind the sequence.
#include <cstring>

#include "base/cpu.h"
#include "base/half.h"
#include "ops/attention/attention_loop.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <utility>

// Compiled for machines that have these instructions; refuse() keeps it from the others.
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
// g++ 12 takes the undefined operands inside its own intrinsics for uninitialised variables of ours.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

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

struct Bf16Buffers {
  Pair* keys;                                      // [D/2, padded]
  Pair* values;                                    // [padded/2, DV]
  alignas(64) Pair queries[kQueries * 64];         // [12, D/2]
  alignas(64) float scores[kQueries * kKeyBlock];  // [12, kKeyBlock]
  alignas(64) std::uint16_t probabilities[kQueries * kKeyBlock];
  alignas(64) float sums[kQueries * 128];  // [12, DV]
};

// 2^x, relative error 8e-5: below the rounding of a bf16 probability.
BIOWARP_INLINE inline __m512 exp2_bf16(__m512 x) {
  const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 part = _mm512_sub_ps(x, whole);
  __m512 p = _mm512_set1_ps(5.517159696e-02f);
  p = _mm512_fmadd_ps(p, part, _mm512_set1_ps(2.426111167e-01f));
  p = _mm512_fmadd_ps(p, part, _mm512_set1_ps(6.932609988e-01f));
  p = _mm512_fmadd_ps(p, part, _mm512_set1_ps(9.999280742e-01f));
  return _mm512_scalef_ps(p, whole);
}

// S[6, 64] = q[6, D] . keys[D, 64]
template <int kPairs>
BIOWARP_INLINE inline void score_tile(const Pair* q, const Pair* keys, std::int64_t padded, float* S) {
  __m512 sum[6][4];
  unroll<6>([&](auto i) BIOWARP_INLINE {
    unroll<4>([&](auto j) BIOWARP_INLINE { sum[i][j] = _mm512_setzero_ps(); });
  });
#pragma GCC unroll 1
  for (int w = 0; w < kPairs; ++w) {
    __m512i key[4];
    unroll<4>([&](auto j) BIOWARP_INLINE { key[j] = _mm512_loadu_si512(keys + w * padded + j * 16); });
    unroll<6>([&](auto i) BIOWARP_INLINE {
      const __m512bh value = (__m512bh)_mm512_set1_epi32(static_cast<int>(q[i * kPairs + w]));
      unroll<4>([&](auto j)
                    BIOWARP_INLINE { sum[i][j] = _mm512_dpbf16_ps(sum[i][j], value, (__m512bh)key[j]); });
    });
  }
  unroll<6>([&](auto i) BIOWARP_INLINE {
    unroll<4>([&](auto j) BIOWARP_INLINE { _mm512_storeu_ps(S + i * kKeyBlock + j * 16, sum[i][j]); });
  });
}

// O[kRows, kGroup * 16] = O * correction + P[kRows, keys] . V[keys, kGroup * 16]; keys in pairs, O and V rows
// DV apart
template <int kRows, int kGroup>
BIOWARP_INLINE inline void value_tile(const std::uint16_t* P, const Pair* V, std::int64_t keys,
                                      std::int64_t DV, const float* correction, float* O) {
  __m512 sum[kRows][kGroup];
  unroll<kRows>([&](auto i) BIOWARP_INLINE {
    const __m512 keep = _mm512_set1_ps(correction[i]);
    unroll<kGroup>([&](auto j) BIOWARP_INLINE {
      sum[i][j] = _mm512_mul_ps(_mm512_loadu_ps(O + i * DV + j * 16), keep);
    });
  });
#pragma GCC unroll 1
  for (std::int64_t k = 0; k < keys; k += 2) {
    __m512i value[kGroup];
    unroll<kGroup>([&](auto j) BIOWARP_INLINE { value[j] = _mm512_loadu_si512(V + k / 2 * DV + j * 16); });
    unroll<kRows>([&](auto i) BIOWARP_INLINE {
      int pair;
      std::memcpy(&pair, P + i * kKeyBlock + k, sizeof pair);
      const __m512bh p = (__m512bh)_mm512_set1_epi32(pair);
      unroll<kGroup>([&](auto j)
                         BIOWARP_INLINE { sum[i][j] = _mm512_dpbf16_ps(sum[i][j], p, (__m512bh)value[j]); });
    });
  }
  unroll<kRows>([&](auto i) BIOWARP_INLINE {
    unroll<kGroup>([&](auto j) BIOWARP_INLINE { _mm512_storeu_ps(O + i * DV + j * 16, sum[i][j]); });
  });
}

template <int kWidth>
struct Bf16Kernel {
  using Buffers = Bf16Buffers;
  static constexpr int kPairs = kWidth / 2;
  static constexpr std::int64_t kDV = (kWidth + 15) / 16 * 16;
  static constexpr int kVectors = static_cast<int>(kDV / 16);
  static constexpr int kGroup = kVectors > 4 ? 4 : kVectors;
  static constexpr int kRows = kGroup <= 2 ? 12 : 6;

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
      for (int i = 0; i < 16; i += 2)
        pack_value_pair(task, k0 + i, b.values + (k0 + i) / 2 * kDV);
    }
  }

  static void pack_keys(const HeadTask& task, std::int64_t k0, std::int64_t padded, Buffers& b) {
    alignas(64) Pair tile[16][kPairs] = {};
    for (int i = 0; i < 16 && k0 + i < task.length; ++i) {
      copy_row(token(task, k0 + i) + task.head_width, task.head_width,
               reinterpret_cast<std::uint16_t*>(tile[i]));
    }
    for (int w = 0; w < kPairs; ++w) {
      for (int i = 0; i < 16; ++i)
        b.keys[w * padded + k0 + i] = tile[i][w];
    }
  }

  static void pack_value_pair(const HeadTask& task, std::int64_t k, Pair* out) {
    alignas(64) std::uint16_t two[2][kDV] = {};
    for (int i = 0; i < 2 && k + i < task.length; ++i) {
      std::memcpy(two[i], token(task, k + i) + 2 * task.head_width,
                  static_cast<std::size_t>(task.head_width) * 2);
    }
    for (int v = 0; v < kDV; ++v)
      out[v] = two[0][v] | Pair{two[1][v]} << 16;
  }

  static void load_queries(const HeadTask& task, std::int64_t first, int count, int rows, Buffers& b) {
    for (int i = 0; i < rows; ++i) {
      copy_row(token(task, first + std::min(i, count - 1)), task.head_width,
               reinterpret_cast<std::uint16_t*>(b.queries + i * kPairs));
    }
    std::memset(b.sums, 0, static_cast<std::size_t>(rows * kDV) * sizeof(float));
    std::memset(b.probabilities, 0, sizeof b.probabilities);
  }

  static void scores(Buffers& b, std::int64_t padded, std::int64_t key, std::int64_t width, int rows) {
    for (std::int64_t k = 0; k < width; k += 64) {
      for (int i = 0; i < rows; i += 6) {
        score_tile<kPairs>(b.queries + i * kPairs, b.keys + key + k, padded, b.scores + i * kKeyBlock + k);
      }
    }
  }

  static float softmax(Buffers& b, int i, std::int64_t valid, std::int64_t width, float factor,
                       SoftmaxState& state) {
    float* S = b.scores + i * kKeyBlock;
    std::fill(S + valid, S + width, -FLT_MAX);
    __m512 high[4];
    unroll<4>([&](auto j) BIOWARP_INLINE { high[j] = _mm512_set1_ps(state.largest); });
    for (std::int64_t k = 0; k < width; k += 64) {
      unroll<4>([&](auto j)
                    BIOWARP_INLINE { high[j] = _mm512_max_ps(high[j], _mm512_loadu_ps(S + k + j * 16)); });
    }
    const float largest =
        _mm512_reduce_max_ps(_mm512_max_ps(_mm512_max_ps(high[0], high[1]), _mm512_max_ps(high[2], high[3])));
    const float sum = exponentiate(S, b.probabilities + i * kKeyBlock, width, factor, largest);
    const __m512 shift = _mm512_set1_ps(std::max((state.largest - largest) * factor, -200.0f));
    const float correction = _mm512_cvtss_f32(exp2_bf16(shift));
    state.sum = state.sum * correction + sum;
    state.largest = largest;
    return correction;
  }

  static float exponentiate(const float* S, std::uint16_t* P, std::int64_t width, float factor,
                            float largest) {
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

  static void add_values(Buffers& b, std::int64_t key, std::int64_t valid, const float* correction,
                         int rows) {
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

  static void store(const Buffers& b, const SoftmaxState* state, const HeadTask& task, std::int64_t first,
                    int count) {
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

template <int kWidth>
void run_width(const HeadTask& task, std::byte* scratch) {
  Bf16Buffers buffers;
  buffers.keys = reinterpret_cast<Pair*>(scratch);
  buffers.values = buffers.keys + kWidth / 2 * padded_keys(task.length);
  attend<Bf16Kernel<kWidth>>(task, buffers);
}

}  // namespace
}  // namespace biowarp
#pragma GCC diagnostic pop
#pragma GCC pop_options
#endif

namespace biowarp {
namespace {

void run(const HeadTask& task, DType, std::byte* scratch) {
#if defined(__x86_64__)
  for_kernel_width(task.head_width, [&](auto width) { run_width<width>(task, scratch); });
#else
  (void)task;
  (void)scratch;
#endif
}

std::string refuse(const AttentionDesc& desc) {
  if (desc.dtype != DType::bf16) return "bf16 only";
  if (!cpu_features().avx512_bf16) return "needs AVX512-BF16";
  return desc.head_width <= 128 ? "" : "heads wider than 128";
}

// Keys take D/2 pairs, values DV/2 pairs per key.
std::int64_t scratch_bytes(const AttentionDesc& desc, std::int64_t longest) {
  const std::int64_t width = kernel_width(desc.head_width), values = (width + 15) / 16 * 16;
  return (width + values) / 2 * padded_keys(longest) * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

}  // namespace

const AttentionRow kAttentionAvx512Bf16{"avx512_bf16", refuse, scratch_bytes, run};

}  // namespace biowarp
