// Vector helpers shared by the *_simd.cpp files: conversions to and from bf16, exp2, the row loads of an
// Accumulator. Included once per instruction set by Highway (see foreach_target.h), hence the toggling guard.
#if defined(BIOWARP_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BIOWARP_SIMD_INL_H_
#undef BIOWARP_SIMD_INL_H_
#else
#define BIOWARP_SIMD_INL_H_
#endif

#include <hwy/highway.h>

#include <utility>

#include "base/half.h"
#include "ops/common/accumulator.h"

HWY_BEFORE_NAMESPACE();
namespace biowarp {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using VF = hn::Vec<F32>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using U16Half = hn::Rebind<std::uint16_t, F32>;
constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(F32()));

// Calls f(constant 0), f(constant 1), ... so that arrays of vectors indexed by the argument stay in
// registers.
template <class F, int... Is>
HWY_INLINE void unroll_sequence(F&& f, std::integer_sequence<int, Is...>) {
  (f(std::integral_constant<int, Is>{}), ...);
}
template <int N, class F>
HWY_INLINE void unroll(F&& f) {
  unroll_sequence(f, std::make_integer_sequence<int, N>{});
}
#define BIOWARP_LAMBDA __attribute__((always_inline)) HWY_ATTR

HWY_INLINE VF load_bf16(const std::uint16_t* p) {
  const auto wide = hn::PromoteTo(U32(), hn::LoadU(U16Half(), p));
  return hn::BitCast(F32(), hn::ShiftLeft<16>(wide));
}

// Round to nearest even; NaN stays NaN.
HWY_INLINE void store_bf16(VF value, std::uint16_t* p) {
  const U32 u;
  const auto bits = hn::BitCast(u, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7fff))));
  const auto kept = hn::IfThenElse(hn::RebindMask(u, hn::IsNaN(value)), hn::Set(u, 0x7fc0), rounded);
  hn::StoreU(hn::TruncateTo(U16Half(), kept), U16Half(), p);
}

HWY_INLINE VF load_as_f32(const float* p) { return hn::LoadU(F32(), p); }
HWY_INLINE VF load_as_f32(const std::uint16_t* p) { return load_bf16(p); }
HWY_INLINE void store_from_f32(float value, float* p) { *p = value; }
HWY_INLINE void store_from_f32(float value, std::uint16_t* p) { *p = f32_to_bf16(value); }
HWY_INLINE float scalar_as_f32(const float* p) { return *p; }
HWY_INLINE float scalar_as_f32(const std::uint16_t* p) { return bf16_to_f32(*p); }
HWY_INLINE void store_from_f32(VF value, float* p) { hn::StoreU(value, F32(), p); }
HWY_INLINE void store_from_f32(VF value, std::uint16_t* p) { store_bf16(value, p); }

// 2^x for x in [-126, 126]; below, x counts as -126. Relative error 8e-8: a minimax
// polynomial of degree 5 on [-0.5, 0.5].
HWY_INLINE VF exp2_f32(VF x) {
  const F32 d;
  const VF clamped = hn::Max(hn::Set(d, -126.0f), x);  // in this order a NaN stays
  const VF whole = hn::Round(clamped);
  const VF part = hn::Sub(clamped, whole);
  VF p = hn::Set(d, 1.327646373e-03f);
  p = hn::MulAdd(p, part, hn::Set(d, 9.675541269e-03f));
  p = hn::MulAdd(p, part, hn::Set(d, 5.550713299e-02f));
  p = hn::MulAdd(p, part, hn::Set(d, 2.402211973e-01f));
  p = hn::MulAdd(p, part, hn::Set(d, 6.931469670e-01f));
  p = hn::MulAdd(p, part, hn::Set(d, 1.0f));
#if HWY_TARGET == HWY_AVX3
  return VF{_mm512_scalef_ps(p.raw, whole.raw)};
#else
  // A product, not a sum of exponents: a NaN in p stays one whatever its conversion gives.
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(I32(), whole), hn::Set(I32(), 127)));
  return hn::Mul(p, hn::BitCast(d, exponent));
#endif
}

// Values of one row of an Accumulator: operator() gives kLanes at a time, value() one, for tails.
// AsF32: complete values. AsInt8: dequantises.
struct AsF32 {
  const float* row;
  AsF32(const Accumulator& a, std::int64_t m) : row(static_cast<const float*>(a.data) + m * a.stride) {}
  HWY_INLINE VF operator()(std::int64_t n) const { return hn::LoadU(F32(), row + n); }
  float value(std::int64_t n) const { return row[n]; }
};

struct AsInt8 {
  const std::int32_t* row;
  const Dequant* q;
  float scale, zero;
  AsInt8(const Accumulator& a, std::int64_t m)
      : row(static_cast<const std::int32_t*>(a.data) + m * a.stride),
        q(&a.dequant),
        scale(a.dequant.row_scale[m]),
        zero(a.dequant.row_zero[m]) {}
  HWY_INLINE VF operator()(std::int64_t n) const {
    const F32 d;
    const VF sum = hn::ConvertTo(d, hn::LoadU(I32(), row + n));
    const VF centred = hn::NegMulAdd(hn::Set(d, zero), hn::LoadU(d, q->column_sum + n), sum);
    const VF scaled = hn::Mul(hn::Mul(hn::Set(d, scale), hn::LoadU(d, q->column_scale + n)), centred);
    return hn::Add(scaled, hn::LoadU(d, q->bias + n));
  }
  float value(std::int64_t n) const {
    const float centred = static_cast<float>(row[n]) - zero * q->column_sum[n];
    return scale * q->column_scale[n] * centred + q->bias[n];
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace biowarp
HWY_AFTER_NAMESPACE();

#endif
