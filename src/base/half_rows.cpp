#include "base/half_rows.h"

#include <cstring>

#include "base/cpu.h"
#include "base/half.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace biowarp {
namespace {

constexpr std::int64_t kHalfBytes = 2;

#if defined(__x86_64__)
bool has_f16c() { return cpu_features().avx2; }  // which includes F16C; clang 14 cannot ask for it by name

// Both return how many elements they did, a multiple of 8.
__attribute__((target("avx2,f16c"))) std::int64_t decode_eights(const std::byte* in, std::int64_t count, float* out) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + kHalfBytes * i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(half));
  }
  return i;
}

__attribute__((target("avx2,f16c"))) std::int64_t encode_eights(const float* in, std::int64_t count, std::byte* out) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + kHalfBytes * i), half);
  }
  return i;
}
#else
bool has_f16c() { return false; }
std::int64_t decode_eights(const std::byte*, std::int64_t, float*) { return 0; }
std::int64_t encode_eights(const float*, std::int64_t, std::byte*) { return 0; }
#endif

}  // namespace

void f16_to_f32_row(const std::byte* in, std::int64_t count, float* out) {
  for (std::int64_t i = has_f16c() ? decode_eights(in, count, out) : 0; i < count; ++i) {
    std::uint16_t half;
    std::memcpy(&half, in + kHalfBytes * i, sizeof half);
    out[i] = f16_to_f32(half);
  }
}

void f32_to_f16_row(const float* in, std::int64_t count, std::byte* out) {
  for (std::int64_t i = has_f16c() ? encode_eights(in, count, out) : 0; i < count; ++i) {
    const std::uint16_t half = f32_to_f16(in[i]);
    std::memcpy(out + kHalfBytes * i, &half, sizeof half);
  }
}

}  // namespace biowarp
