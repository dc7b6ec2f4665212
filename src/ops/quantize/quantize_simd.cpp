#include "ops/common/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/quantize/quantize_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>

#include "ops/common/simd-inl.h"
#include "ops/quantize/quantize.h"

HWY_BEFORE_NAMESPACE();
namespace biowarp {
namespace HWY_NAMESPACE {
namespace {

struct Range {
  float low, high;  // with 0 inside
  bool finite;
};

template <class In>
HWY_INLINE Range range_of(const In* x, std::int64_t width) {
  const F32 d;
  VF low = hn::Zero(d), high = hn::Zero(d), poison = hn::Zero(d);
  std::int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) {
    const VF v = load_as_f32(d, x + c);
    low = hn::Min(v, low);
    high = hn::Max(v, high);
    poison = hn::MulAdd(v, hn::Zero(d), poison);  // stays 0 unless a value is NaN or infinite
  }
  Range range{hn::GetLane(hn::MinOfLanes(d, low)), hn::GetLane(hn::MaxOfLanes(d, high)), true};
  float sum = hn::GetLane(hn::SumOfLanes(d, poison));
  for (; c < width; ++c) {
    const float v = scalar_as_f32(x + c);
    range.low = std::min(range.low, v);
    range.high = std::max(range.high, v);
    sum += v * 0.0f;
  }
  range.finite = sum == 0.0f;
  return range;
}

template <class In>
void quantize_row(const In* x, const QuantizeRowsArgs& args, std::int64_t r) {
  const F32 d;
  const I32 i;
  const hn::Rebind<std::uint8_t, F32> u8;
  std::uint8_t* codes = args.codes + r * args.width;
  const Range range = range_of(x, args.width);
  const float scale = std::max((range.high - range.low) / 255.0f, 1e-30f);
  const float inverse = 1.0f / scale, zero = std::nearbyint(-range.low * inverse);
  args.scale[r] = range.finite ? scale : NAN;
  args.zero[r] = range.finite ? zero : 0.0f;
  if (!range.finite) {
    std::fill_n(codes, args.width, std::uint8_t{0});
    return;
  }
  std::int64_t c = 0;
  for (; c + kLanes <= args.width; c += kLanes) {
    const VF code = hn::MulAdd(load_as_f32(d, x + c), hn::Set(d, inverse), hn::Set(d, zero));
    const auto clamped = hn::Min(hn::Max(hn::NearestInt(code), hn::Zero(i)), hn::Set(i, 255));
    hn::StoreU(hn::DemoteTo(u8, clamped), u8, codes + c);
  }
  for (; c < args.width; ++c) {
    const float code = std::nearbyint(scalar_as_f32(x + c) * inverse + zero);
    codes[c] = static_cast<std::uint8_t>(std::clamp(code, 0.0f, 255.0f));
  }
}

}  // namespace

void quantize_all_rows(const QuantizeRowsArgs& args) {
  for (std::int64_t r = 0; r < args.rows; ++r) {
    if (args.x_dtype == DType::bf16) {
      quantize_row(static_cast<const std::uint16_t*>(args.x) + r * args.width, args, r);
    } else {
      quantize_row(static_cast<const float*>(args.x) + r * args.width, args, r);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace biowarp
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace biowarp {

HWY_EXPORT(quantize_all_rows);

void quantize_rows(Context& lane, const QuantizeRowsArgs& args) {
  const OpTimer timer(lane, OpKind::quantize);
  cap_simd_targets();
  HWY_DYNAMIC_DISPATCH(quantize_all_rows)(args);
}

}  // namespace biowarp
#endif
