#include "ops/common/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/activation/gelu_simd.cpp"
#include <hwy/foreach_target.h>

#include <cmath>
#include <numbers>

#include "ops/activation/gelu.h"
#include "ops/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace biowarp {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE VF horner(VF, VF sum) { return sum; }

template <class... Rest>
HWY_INLINE VF horner(VF t, VF sum, float next, Rest... rest) {
  return horner(t, hn::MulAdd(sum, t, hn::Set(F32(), next)), rest...);
}

// erf(z) = z P(z^2) / Q(z^2) on |z| <= 3.93, where it reaches 1 in f32; minimax fit of degree 5 / 5.
HWY_INLINE VF erf_f32(VF value) {
  const F32 d;
  const VF z = hn::Clamp(value, hn::Set(d, -3.93f), hn::Set(d, 3.93f));
  const VF t = hn::Mul(z, z);
  const VF p = horner(t, hn::Set(d, 2.042051733e-06f), 2.847980738e-04f, 3.779145675e-03f, 5.278885398e-02f,
                      1.907730473e-01f, 1.128379146e+00f);
  const VF q = horner(t, hn::Set(d, 3.800436459e-05f), 1.165100160e-03f, 1.499650868e-02f, 1.142530594e-01f,
                      5.024009332e-01f, 1.0f);
  return hn::Div(hn::Mul(z, p), q);
}

HWY_INLINE VF gelu_exact(VF x) {
  const F32 d;
  const VF half = hn::Mul(x, hn::Set(d, 0.5f));
  return hn::MulAdd(half, erf_f32(hn::Mul(x, hn::Set(d, 0.70710678f))), half);
}

// tanh(u) = 1 - 2 / (1 + e^(2u)), so x (1 + tanh u) / 2 = x - x / (1 + e^(2u)).
HWY_INLINE VF gelu_tanh(VF x) {
  const F32 d;
  constexpr float kTwiceLog2e = 2.0f * std::numbers::log2e_v<float>;
  const VF cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715f * 0.7978845608f), hn::Set(d, 0.7978845608f));
  const VF u = hn::Clamp(hn::Mul(x, cubic), hn::Set(d, -40.0f), hn::Set(d, 40.0f));
  const VF e = exp2_f32(hn::Mul(u, hn::Set(d, kTwiceLog2e)));
  return hn::Sub(x, hn::Div(x, hn::Add(e, hn::Set(d, 1.0f))));
}

template <bool kTanh, class Load, class Out>
void gelu_row(const Load& load, std::int64_t width, Out* y) {
  const auto apply = [&](std::int64_t c)
                         BIOWARP_LAMBDA { return kTanh ? gelu_tanh(load(F32(), c)) : gelu_exact(load(F32(), c)); };
  std::int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) store_from_f32(F32(), apply(c), y + c);
  for (; c < width; ++c) store_scalar(static_cast<float>(gelu_reference(load.value(c), kTanh)), y + c);
}

template <bool kTanh, class Load>
void gelu_rows_as(const GeluArgs& args) {
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const Load load(args.x, r);
    if (args.y_dtype == DType::bf16) {
      gelu_row<kTanh>(load, args.width, static_cast<std::uint16_t*>(args.y) + r * args.width);
    } else {
      gelu_row<kTanh>(load, args.width, static_cast<float*>(args.y) + r * args.width);
    }
  }
}

}  // namespace

void gelu_rows(const GeluArgs& args) {
  if (args.x.is_int8) {
    args.tanh_form ? gelu_rows_as<true, AsInt8>(args) : gelu_rows_as<false, AsInt8>(args);
  } else {
    args.tanh_form ? gelu_rows_as<true, AsF32>(args) : gelu_rows_as<false, AsF32>(args);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace biowarp
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace biowarp {

HWY_EXPORT(gelu_rows);

void gelu(Context& lane, const GeluArgs& args) {
  const OpTimer timer(lane, OpKind::activation);
  cap_simd_targets();
  HWY_DYNAMIC_DISPATCH(gelu_rows)(args);
}

double gelu_reference(double x, bool tanh_form) {
  if (tanh_form) return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
}

}  // namespace biowarp
#endif
