#include "ops/common/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/rotary/rotary_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>

#include "ops/common/simd-inl.h"
#include "ops/rotary/rotary.h"

HWY_BEFORE_NAMESPACE();
namespace biowarp {
namespace HWY_NAMESPACE {
namespace {

// One query or key, columns n .. n+D-1 of the row, by vectors of D's width. `table` is RotaryTable::row.
template <class D, class Load, class Out>
HWY_INLINE void rotate(D d, const Load& load, std::int64_t n, std::int64_t half, const float* table, Out* out) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(D()));
  const float *cosine = table, *sine = table + half;
  std::int64_t j = 0;
  for (; j + lanes <= half; j += lanes) {
    const auto low = load(d, n + j), high = load(d, n + half + j);
    const auto c = hn::LoadU(d, cosine + j), s = hn::LoadU(d, sine + j);
    store_from_f32(d, hn::NegMulAdd(high, s, hn::Mul(low, c)), out + n + j);
    store_from_f32(d, hn::MulAdd(low, s, hn::Mul(high, c)), out + n + half + j);
  }
  for (; j < half; ++j) {
    const float low = load.value(n + j), high = load.value(n + half + j);
    store_scalar(low * cosine[j] - high * sine[j], out + n + j);
    store_scalar(high * cosine[j] + low * sine[j], out + n + half + j);
  }
}

template <class D, class Load, class Out>
HWY_INLINE void copy_values(D d, const Load& load, std::int64_t n, std::int64_t width, Out* out) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(D()));
  std::int64_t j = 0;
  for (; j + lanes <= width; j += lanes) store_from_f32(d, load(d, n + j), out + n + j);
  for (; j < width; ++j) store_scalar(load.value(n + j), out + n + j);
}

template <class D, class Load, class Out>
void rotary_row(D d, const RotaryArgs& args, std::int64_t r) {
  const Load load(args.qkv, r);
  const std::int64_t width = args.head_width;
  const float* table = args.table->row(args.positions[r]);
  Out* out = static_cast<Out*>(args.out) + r * args.heads * 3 * width;
  for (std::int64_t h = 0; h < args.heads; ++h) {
    const std::int64_t q = h * 3 * width;
    rotate(d, load, q, width / 2, table, out);
    rotate(d, load, q + width, width / 2, table, out);
    copy_values(d, load, q + 2 * width, width, out);
  }
}

template <class D, class Load>
void rows_by(D d, const RotaryArgs& args) {
  for (std::int64_t r = 0; r < args.rows; ++r) {
    args.out_dtype == DType::bf16 ? rotary_row<D, Load, std::uint16_t>(d, args, r)
                                  : rotary_row<D, Load, float>(d, args, r);
  }
}

// Half heads are as narrow as 8 (8M) or 12 (35M): vectors no wider than what divides them.
template <class Load>
void rows_as(const RotaryArgs& args) {
  const std::int64_t half = args.head_width / 2;
  if (half % kLanes == 0) return rows_by<F32, Load>(F32(), args);
  if (half % 8 == 0) return rows_by<hn::CappedTag<float, 8>, Load>({}, args);
  rows_by<hn::CappedTag<float, 4>, Load>({}, args);
}

}  // namespace

void rotary_rows(const RotaryArgs& args) { args.qkv.is_int8 ? rows_as<AsInt8>(args) : rows_as<AsF32>(args); }

}  // namespace HWY_NAMESPACE
}  // namespace biowarp
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace biowarp {

HWY_EXPORT(rotary_rows);

void rotary_qkv(Context& lane, const RotaryArgs& args) {
  const OpTimer timer(lane, OpKind::rotary);
  cap_simd_targets();
  HWY_DYNAMIC_DISPATCH(rotary_rows)(args);
}

RotaryTable::RotaryTable(std::int64_t head_width, std::span<const float> inv_freq)
    : width_(head_width), inv_freq_(inv_freq.begin(), inv_freq.end()) {
  for (std::int64_t j = static_cast<std::int64_t>(inv_freq_.size()); j < head_width / 2; ++j) {
    inv_freq_.push_back(std::pow(10000.0, -2.0 * static_cast<double>(j) / static_cast<double>(head_width)));
  }
}

void RotaryTable::reserve(std::int64_t positions) {
  const std::int64_t half = width_ / 2;
  auto known = static_cast<std::int64_t>(table_.size()) / width_;
  if (positions <= known) return;
  table_.resize(static_cast<std::size_t>(positions * width_));
  for (std::int64_t p = known; p < positions; ++p) {
    for (std::int64_t j = 0; j < half; ++j) {
      const double angle = static_cast<double>(p) * inv_freq_[static_cast<std::size_t>(j)];
      table_[static_cast<std::size_t>(p * width_ + j)] = static_cast<float>(std::cos(angle));
      table_[static_cast<std::size_t>(p * width_ + half + j)] = static_cast<float>(std::sin(angle));
    }
  }
}

}  // namespace biowarp
#endif
