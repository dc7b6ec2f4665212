#include "ops/common/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/layernorm/layernorm_simd.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "base/half.h"
#include "ops/common/simd-inl.h"
#include "ops/layernorm/layernorm.h"

HWY_BEFORE_NAMESPACE();
namespace biowarp {
namespace HWY_NAMESPACE {
namespace {

// Sum over c of f(x[c]) with f applied to whole vectors; the tail is taken one element at a time.
template <class VectorTerm, class ScalarTerm>
HWY_INLINE float sum_of(const float* x, std::int64_t width, VectorTerm term, ScalarTerm scalar_term) {
  const F32 d;
  VF a = hn::Zero(d), b = hn::Zero(d);
  std::int64_t c = 0;
  for (; c + 2 * kLanes <= width; c += 2 * kLanes) {
    a = term(hn::LoadU(d, x + c), a);
    b = term(hn::LoadU(d, x + c + kLanes), b);
  }
  if (c + kLanes <= width) {
    a = term(hn::LoadU(d, x + c), a);
    c += kLanes;
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
  for (; c < width; ++c) sum += scalar_term(x[c]);
  return sum;
}

template <class Out>
void normalize_row(const float* x, const LayerNormArgs& args, Out* y) {
  const F32 d;
  const std::int64_t width = args.width;
  const auto count = static_cast<float>(width);
  const float mean =
      sum_of(
          x, width, [](VF v, VF sum) BIOWARP_LAMBDA { return hn::Add(sum, v); }, [](float v) { return v; }) /
      count;
  const VF centre = hn::Set(d, mean);
  const float squares = sum_of(
      x, width,
      [centre](VF v, VF sum) BIOWARP_LAMBDA {
        const VF off = hn::Sub(v, centre);
        return hn::MulAdd(off, off, sum);
      },
      [mean](float v) { return (v - mean) * (v - mean); });
  const float inverse = 1.0f / std::sqrt(squares / count + args.eps);
  const VF scale = hn::Set(d, inverse);
  std::int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) {
    const VF unit = hn::Mul(hn::Sub(hn::LoadU(d, x + c), centre), scale);
    store_from_f32(d, hn::MulAdd(unit, hn::LoadU(d, args.weight + c), hn::LoadU(d, args.bias + c)), y + c);
  }
  for (; c < width; ++c) {
    store_scalar((x[c] - mean) * inverse * args.weight[c] + args.bias[c], y + c);
  }
}

}  // namespace

void layernorm_rows(const LayerNormArgs& args) {
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * args.width;
    if (args.y_dtype == DType::bf16) {
      normalize_row(x, args, static_cast<std::uint16_t*>(args.y) + r * args.width);
    } else {
      normalize_row(x, args, static_cast<float*>(args.y) + r * args.width);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace biowarp
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace biowarp {

HWY_EXPORT(layernorm_rows);

void layernorm(Context& lane, const LayerNormArgs& args) {
  const OpTimer timer(lane, OpKind::layernorm);
  cap_simd_targets();
  HWY_DYNAMIC_DISPATCH(layernorm_rows)(args);
}

void layernorm_reference(const LayerNormArgs& args) {
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * args.width;
    double mean = 0, variance = 0;
    for (std::int64_t c = 0; c < args.width; ++c) mean += x[c];
    mean /= static_cast<double>(args.width);
    for (std::int64_t c = 0; c < args.width; ++c) variance += (x[c] - mean) * (x[c] - mean);
    variance /= static_cast<double>(args.width);
    const double inverse = 1.0 / std::sqrt(variance + args.eps);
    for (std::int64_t c = 0; c < args.width; ++c) {
      const auto value = static_cast<float>((x[c] - mean) * inverse * args.weight[c] + args.bias[c]);
      if (args.y_dtype == DType::bf16) {
        static_cast<std::uint16_t*>(args.y)[r * args.width + c] = f32_to_bf16(value);
      } else {
        static_cast<float*>(args.y)[r * args.width + c] = value;
      }
    }
  }
}

}  // namespace biowarp
#endif
