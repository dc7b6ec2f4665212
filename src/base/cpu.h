// Instruction sets this process may use.
//
// BIOWARP_MAX_ISA=avx2|avx512|avx512_bf16|amx caps what is reported, so that a machine can be tested as a lesser
// one; the same cap is handed to oneDNN and Highway by the folders that use them.
#pragma once

#include <string>

namespace biowarp {

struct CpuFeatures {
  bool avx2 = false;         // AVX2, FMA, F16C
  bool avx512 = false;       // F, BW, DQ, VL
  bool avx512_vnni = false;  // 8-bit dot products
  bool avx512_bf16 = false;  // bf16 dot products
  bool amx_bf16 = false;     // tiles, and the kernel lets us use them
  bool amx_int8 = false;
};

// Read once; the same for the life of the process.
const CpuFeatures& cpu_features();

// "avx512_bf16 (AMD EPYC)": the highest set in use and the processor's name.
std::string describe_cpu();

}  // namespace biowarp
