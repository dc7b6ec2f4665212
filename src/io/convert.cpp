#include "io/convert.h"

#include <cstring>

#include "base/cpu.h"
#include "base/fail.h"
#include "base/half.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace biowarp {
namespace {

template <class T>
T load(const std::byte* in, std::int64_t index) {
  T value;
  std::memcpy(&value, in + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void store(std::byte* out, std::int64_t index, T value) {
  std::memcpy(out + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

// One loop for every pair of types; the compiler vectorises those with simple bodies.
template <class Stored, class Body>
void decode(const std::byte* in, std::int64_t count, float* out, Body&& body) {
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = body(load<Stored>(in, i));
}

template <class Stored, class Body>
void encode(const float* in, std::int64_t count, std::byte* out, Body&& body) {
  for (std::int64_t i = 0; i < count; ++i)
    store<Stored>(out, i, body(in[i]));
}

#if defined(__x86_64__)
bool has_f16c() {
  return cpu_features().avx2;  // which includes F16C; clang 14 cannot ask for it by name
}

// Both return how many elements they did, a multiple of 8.
__attribute__((target("avx2,f16c"))) std::int64_t decode_f16_fast(const std::byte* in, std::int64_t count,
                                                                  float* out) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 2 * i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(half));
  }
  return i;
}

__attribute__((target("avx2,f16c"))) std::int64_t encode_f16_fast(const float* in, std::int64_t count,
                                                                  std::byte* out) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half =
        _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * i), half);
  }
  return i;
}
#else
bool has_f16c() {
  return false;
}
std::int64_t decode_f16_fast(const std::byte*, std::int64_t, float*) {
  return 0;
}
std::int64_t encode_f16_fast(const float*, std::int64_t, std::byte*) {
  return 0;
}
#endif

}  // namespace

bool is_floating(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

void convert_to_f32(DType dtype, const std::byte* in, std::int64_t count, float* out) {
  switch (dtype) {
    case DType::f32:
      if (count > 0) std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DType::bf16:
      return decode<std::uint16_t>(in, count, out, bf16_to_f32);
    case DType::f16: {
      const std::int64_t done = has_f16c() ? decode_f16_fast(in, count, out) : 0;
      return decode<std::uint16_t>(in + 2 * done, count - done, out + done, f16_to_f32);
    }
    case DType::f64:
      return decode<double>(in, count, out, [](double value) { return static_cast<float>(value); });
    default:
      fail(ErrorKind::internal, "{} is no floating type", name_of(dtype));
  }
}

void convert_from_f32(DType dtype, const float* in, std::int64_t count, std::byte* out) {
  switch (dtype) {
    case DType::f32:
      if (count > 0) std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DType::bf16:
      return encode<std::uint16_t>(in, count, out, f32_to_bf16);
    case DType::f16: {
      const std::int64_t done = has_f16c() ? encode_f16_fast(in, count, out) : 0;
      return encode<std::uint16_t>(in + done, count - done, out + 2 * done, f32_to_f16);
    }
    case DType::f64:
      return encode<double>(in, count, out, [](float value) { return static_cast<double>(value); });
    default:
      fail(ErrorKind::internal, "{} is no floating type", name_of(dtype));
  }
}

}  // namespace biowarp
