#include "ops/common/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/residual/residual_simd.cpp"
#include <hwy/foreach_target.h>

#include "ops/common/simd-inl.h"
#include "ops/residual/residual.h"

HWY_BEFORE_NAMESPACE();
namespace biowarp {
namespace HWY_NAMESPACE {
namespace {

template <bool kAdd, class Load>
void rows_as(const ResidualArgs& args) {
  const F32 d;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const Load load(args.y, r);
    float* x = args.x + r * args.width;
    std::int64_t c = 0;
    for (; c + kLanes <= args.width; c += kLanes) {
      hn::StoreU(kAdd ? hn::Add(hn::LoadU(d, x + c), load(d, c)) : load(d, c), d, x + c);
    }
    for (; c < args.width; ++c) x[c] = kAdd ? x[c] + load.value(c) : load.value(c);
  }
}

}  // namespace

void add_rows(const ResidualArgs& args) { args.y.is_int8 ? rows_as<true, AsInt8>(args) : rows_as<true, AsF32>(args); }
void store_rows(const ResidualArgs& args) {
  args.y.is_int8 ? rows_as<false, AsInt8>(args) : rows_as<false, AsF32>(args);
}

}  // namespace HWY_NAMESPACE
}  // namespace biowarp
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace biowarp {

HWY_EXPORT(add_rows);
HWY_EXPORT(store_rows);

void add_residual(Context& lane, const ResidualArgs& args) {
  const OpTimer timer(lane, OpKind::other);
  cap_simd_targets();
  HWY_DYNAMIC_DISPATCH(add_rows)(args);
}

void store_result(Context& lane, const ResidualArgs& args) {
  const OpTimer timer(lane, OpKind::other);
  cap_simd_targets();
  HWY_DYNAMIC_DISPATCH(store_rows)(args);
}

}  // namespace biowarp
#endif
