#include "ops/common/simd_targets.h"

#include <hwy/targets.h>

#include "base/cpu.h"

namespace biowarp {

void cap_simd_targets() {
  static const bool applied = [] {
#if defined(__x86_64__)
    if (!cpu_features().avx512) hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL);
#endif
    return true;
  }();
  (void)applied;
}

}  // namespace biowarp
