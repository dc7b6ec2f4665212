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

// Loads and stores of f32 or bf16 elements as f32 vectors of any width; bf16 is rounded to nearest even, NaN stays NaN.
template <class D>
HWY_INLINE hn::Vec<D> load_as_f32(D d, const float* p) {
  return hn::LoadU(d, p);
}

template <class D>
HWY_INLINE hn::Vec<D> load_as_f32(D d, const std::uint16_t* p) {
  const hn::RebindToUnsigned<D> u32;
  const hn::Rebind<std::uint16_t, D> u16;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(u32, hn::LoadU(u16, p))));
}

template <class D>
HWY_INLINE void store_from_f32(D d, hn::Vec<D> value, float* p) {
  hn::StoreU(value, d, p);
}

template <class D>
HWY_INLINE void store_from_f32(D, hn::Vec<D> value, std::uint16_t* p) {
  const hn::RebindToUnsigned<D> u;
  const hn::Rebind<std::uint16_t, D> u16;
  const auto bits = hn::BitCast(u, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7fff))));
  const auto kept = hn::IfThenElse(hn::RebindMask(u, hn::IsNaN(value)), hn::Set(u, 0x7fc0), rounded);
  hn::StoreU(hn::TruncateTo(u16, kept), u16, p);
}

// The same for one element.
HWY_INLINE float scalar_as_f32(const float* p) { return *p; }
HWY_INLINE float scalar_as_f32(const std::uint16_t* p) { return bf16_to_f32(*p); }
HWY_INLINE void store_scalar(float value, float* p) { *p = value; }
HWY_INLINE void store_scalar(float value, std::uint16_t* p) { *p = f32_to_bf16(value); }

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

// Values of one row of an Accumulator: operator() gives a vector of them, value() one, for tails.
// AsF32: complete values. AsInt8: dequantises.
struct AsF32 {
  const float* row;
  AsF32(const Accumulator& a, std::int64_t m) : row(static_cast<const float*>(a.data) + m * a.stride) {}
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::int64_t n) const {
    return hn::LoadU(d, row + n);
  }
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
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::int64_t n) const {
    const auto sum = hn::ConvertTo(d, hn::LoadU(hn::RebindToSigned<D>(), row + n));
    const auto centred = hn::NegMulAdd(hn::Set(d, zero), hn::LoadU(d, q->column_sum + n), sum);
    const auto scaled = hn::Mul(hn::Mul(hn::Set(d, scale), hn::LoadU(d, q->column_scale + n)), centred);
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
