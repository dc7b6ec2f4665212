#include "io/convert.h"

#include <cstring>

#include "base/cpu.h"
#include "base/fail.h"
#include "base/half.h"
#include "base/half_rows.h"

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
  for (std::int64_t i = 0; i < count; ++i) out[i] = body(load<Stored>(in, i));
}

template <class Stored, class Body>
void encode(const float* in, std::int64_t count, std::byte* out, Body&& body) {
  for (std::int64_t i = 0; i < count; ++i) store<Stored>(out, i, body(in[i]));
}

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
      return decode<std::uint16_t>(in, count, out, [](std::uint16_t bits) { return bf16_to_f32(bits); });
    case DType::f16: return f16_to_f32_row(in, count, out);
    case DType::f64: return decode<double>(in, count, out, [](double value) { return static_cast<float>(value); });
    default: fail(ErrorKind::internal, "{} is no floating type", name_of(dtype));
  }
}

void convert_from_f32(DType dtype, const float* in, std::int64_t count, std::byte* out) {
  switch (dtype) {
    case DType::f32:
      if (count > 0) std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DType::bf16: return encode<std::uint16_t>(in, count, out, [](float value) { return f32_to_bf16(value); });
    case DType::f16: return f32_to_f16_row(in, count, out);
    case DType::f64: return encode<double>(in, count, out, [](float value) { return static_cast<double>(value); });
    default: fail(ErrorKind::internal, "{} is no floating type", name_of(dtype));
  }
}

}  // namespace biowarp
