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

// One query or key: columns n .. n+D-1 of the row. `table` is RotaryTable::row.
template <class Load, class Out>
HWY_INLINE void rotate(const Load& load, std::int64_t n, std::int64_t half, const float* table, Out* out) {
  const F32 d;
  const float *cosine = table, *sine = table + half;
  std::int64_t j = 0;
  for (; j + kLanes <= half; j += kLanes) {
    const VF low = load(n + j), high = load(n + half + j);
    const VF c = hn::LoadU(d, cosine + j), s = hn::LoadU(d, sine + j);
    store_from_f32(hn::NegMulAdd(high, s, hn::Mul(low, c)), out + n + j);
    store_from_f32(hn::MulAdd(low, s, hn::Mul(high, c)), out + n + half + j);
  }
  for (; j < half; ++j) {
    const float low = load.value(n + j), high = load.value(n + half + j);
    store_from_f32(low * cosine[j] - high * sine[j], out + n + j);
    store_from_f32(high * cosine[j] + low * sine[j], out + n + half + j);
  }
}

template <class Load, class Out>
HWY_INLINE void copy_values(const Load& load, std::int64_t n, std::int64_t width, Out* out) {
  std::int64_t j = 0;
  for (; j + kLanes <= width; j += kLanes)
    store_from_f32(load(n + j), out + n + j);
  for (; j < width; ++j)
    store_from_f32(load.value(n + j), out + n + j);
}

template <class Load, class Out>
void rotary_row(const RotaryArgs& args, std::int64_t r) {
  const Load load(args.qkv, r);
  const std::int64_t width = args.head_width;
  const float* table = args.table->row(args.positions[r]);
  Out* out = static_cast<Out*>(args.out) + r * args.heads * 3 * width;
  for (std::int64_t h = 0; h < args.heads; ++h) {
    const std::int64_t q = h * 3 * width;
    rotate(load, q, width / 2, table, out);
    rotate(load, q + width, width / 2, table, out);
    copy_values(load, q + 2 * width, width, out);
  }
}

template <class Load>
void rows_as(const RotaryArgs& args) {
  for (std::int64_t r = 0; r < args.rows; ++r) {
    args.out_dtype == DType::bf16 ? rotary_row<Load, std::uint16_t>(args, r)
                                  : rotary_row<Load, float>(args, r);
  }
}

}  // namespace

void rotary_rows(const RotaryArgs& args) {
  args.qkv.is_int8 ? rows_as<AsInt8>(args) : rows_as<AsF32>(args);
}

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
