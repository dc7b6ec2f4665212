// Which instruction sets Highway compiles our loops for. Included before any Highway header, by every
// *_simd.cpp.
//
// x86: SSE2 (baseline, correctness only), AVX2, AVX-512. Arm: NEON. SSE4 and the scalable sets are left out:
// nobody runs these models there, and each set costs compile time.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

namespace biowarp {

// Applies BIOWARP_MAX_ISA to Highway's run-time choice; called before the first dispatch. Cheap after the
// first call.
void cap_simd_targets();

}  // namespace biowarp
