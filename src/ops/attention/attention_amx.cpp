// bf16 attention with AMX: scores and values as 16 x 16 tiles of f32 sums, softmax between them with AVX-512. Heads
// narrower than 32 are padded to 32, where a tile multiplication costs the same.
#include <cmath>
#include <cstring>
#include <utility>

#include "base/cpu.h"
#include "base/half.h"
#include "ops/attention/attention_loop.h"

#if defined(__x86_64__)
#include "ops/common/amx.h"

// Compiled for machines that have these instructions; refuse() keeps it from the others. Everything that is shared with
// other files is included above, so that none of it is compiled for them.
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")
// g++ 12 takes the undefined operands inside its own intrinsics for uninitialised variables of ours.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

#include "ops/attention/attention_bf16-inl.h"

namespace biowarp {
namespace {

// Two rows of 16 queries by two columns of 16, or one by two: a . b over kSteps tiles of 32, added to c.
// a [32, .] and c [32, .] rows are a_stride and c_stride bytes apart, b rows b_stride; steps lie a_step, b_step apart.
struct TileBlock {
  const char* a;
  std::int64_t a_stride, a_step;
  const char* b;
  std::int64_t b_stride, b_step;
  char* c;
  std::int64_t c_stride;
};

template <bool kTwoRows>
BIOWARP_INLINE inline void multiply_tiles(const TileBlock& t, std::int64_t steps, bool start_at_zero) {
  if (start_at_zero) {
    _tile_zero(0);
    _tile_zero(1);
    if constexpr (kTwoRows) {
      _tile_zero(2);
      _tile_zero(3);
    }
  } else {
    _tile_loadd(0, t.c, t.c_stride);
    _tile_loadd(1, t.c + 64, t.c_stride);
    if constexpr (kTwoRows) {
      _tile_loadd(2, t.c + 16 * t.c_stride, t.c_stride);
      _tile_loadd(3, t.c + 16 * t.c_stride + 64, t.c_stride);
    }
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    const char *a = t.a + step * t.a_step, *b = t.b + step * t.b_step;
    _tile_loadd(4, a, t.a_stride);
    _tile_loadd(6, b, t.b_stride);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + 64, t.b_stride);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (kTwoRows) {
      _tile_loadd(5, a + 16 * t.a_stride, t.a_stride);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, t.c, t.c_stride);
  _tile_stored(1, t.c + 64, t.c_stride);
  if constexpr (kTwoRows) {
    _tile_stored(2, t.c + 16 * t.c_stride, t.c_stride);
    _tile_stored(3, t.c + 16 * t.c_stride + 64, t.c_stride);
  }
}

BIOWARP_INLINE inline void multiply(const TileBlock& block, std::int64_t steps, bool start_at_zero, int rows) {
  rows == 32 ? multiply_tiles<true>(block, steps, start_at_zero) : multiply_tiles<false>(block, steps, start_at_zero);
}

template <int kWidth>
struct AmxKernel : Bf16Block<kWidth, kWidth, 32> {
  using Base = Bf16Block<kWidth, kWidth, 32>;
  using Buffers = typename Base::Buffers;
  static constexpr int kQueryGroup = 16;
  static constexpr std::int64_t kKeyStep = 32;
  static constexpr int kPairs = kWidth / 2;

  static void scores(Buffers& b, std::int64_t padded, std::int64_t key, std::int64_t width, int rows) {
    for (std::int64_t k = 0; k < width; k += 32) {
      multiply(
          {reinterpret_cast<const char*>(b.queries), kPairs * 4, 64, reinterpret_cast<const char*>(b.keys + key + k),
           padded * 4, padded * 64, reinterpret_cast<char*>(b.scores + k), kKeyBlock * 4},
          kWidth / 32, true, rows);
    }
  }

  static void bounded_softmax(Buffers& b, std::int64_t padded, std::int64_t key, std::int64_t valid, std::int64_t width,
                              int rows, float factor, SoftmaxState* state) {
    scores(b, padded, key, width, rows);
    for (int i = 0; i < rows; ++i) {
      float* S = b.scores + i * kKeyBlock;
      std::fill(S + valid, S + width, -FLT_MAX);
      state[i].sum += Base::exponentiate(S, b.probabilities + i * kKeyBlock, width, factor, state[i].largest);
    }
  }

  static void add_values(Buffers& b, std::int64_t key, std::int64_t valid, const float* correction, int rows) {
    for (int i = 0; i < rows; ++i) {
      const __m512 keep = _mm512_set1_ps(correction[i]);
      for (int v = 0; v < kWidth; v += 16) {
        float* sum = b.sums + i * kWidth + v;
        _mm512_store_ps(sum, _mm512_mul_ps(_mm512_load_ps(sum), keep));
      }
    }
    for (int v = 0; v < kWidth; v += 32) {
      multiply({reinterpret_cast<const char*>(b.probabilities), kKeyBlock * 2, 64,
                reinterpret_cast<const char*>(b.values + key / 2 * kWidth + v), kWidth * 4, kWidth * 64,
                reinterpret_cast<char*>(b.sums + v), kWidth * 4},
               (valid + 31) / 32, false, rows);
    }
  }
};

template <int kWidth>
void run_width(const HeadTask& task, std::byte* scratch) {
  const TileScope tiles;
  typename AmxKernel<kWidth>::Buffers buffers(scratch, task.length);
  attend<AmxKernel<kWidth>>(task, buffers);
}

}  // namespace
}  // namespace biowarp
#pragma GCC diagnostic pop
#pragma GCC pop_options
#endif

namespace biowarp {
namespace {

#if defined(__x86_64__)
// 32, 64 or 128
template <class Body>
void for_amx_width(std::int64_t width, Body&& body) {
  if (width <= 32) return body(std::integral_constant<int, 32>{});
  if (width <= 64) return body(std::integral_constant<int, 64>{});
  body(std::integral_constant<int, 128>{});
}

void run(const HeadTask& task, DType, std::byte* scratch) {
  for_amx_width(task.head_width, [&](auto width) { run_width<width>(task, scratch); });
}

std::int64_t scratch_bytes(const AttentionDesc& desc, std::int64_t longest) {
  std::int64_t bytes = 0;
  for_amx_width(desc.head_width, [&](auto width) { bytes = AmxKernel<width>::scratch_bytes(longest); });
  return bytes;
}
#else
void run(const HeadTask&, DType, std::byte*) {}
std::int64_t scratch_bytes(const AttentionDesc&, std::int64_t) { return 0; }
#endif

std::string refuse(const AttentionDesc& desc) {
  if (desc.dtype != DType::bf16) return "bf16 only";
  if (!cpu_features().amx_bf16 || !cpu_features().avx512_bf16) return "needs AMX-BF16 and AVX512-BF16";
  return desc.head_width <= 128 ? "" : "heads wider than 128";
}

}  // namespace

const AttentionRow kAttentionAmx{"amx", refuse, scratch_bytes, run};

}  // namespace biowarp
