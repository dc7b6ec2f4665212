// The implementation list's row type; each gemm_<name>.cpp defines one row.
#pragma once

#include "ops/gemm/gemm.h"

namespace biowarp {

// Weights after conversion to the precision of the product, in plain order.
struct PlainWeights {
  GemmDesc desc;
  std::vector<float> f32;           // [N,K] for f32
  std::vector<std::uint16_t> bf16;  // [N,K] for bf16
  std::vector<std::int8_t> int8;    // [N,K] for int8
  const float* bias;                // [N]
};

struct GemmRow {
  const char* name;
  std::string (*refuse)(const GemmDesc& desc);
  std::unique_ptr<GemmWeights> (*pack)(const PlainWeights& weights);
  std::string why_not(const GemmDesc& desc) const { return refuse(desc); }
};

extern const GemmRow kGemmAmx;
extern const GemmRow kGemmOneDnn;
extern const GemmRow kGemmSimd;
extern const GemmRow kGemmReference;

}  // namespace biowarp
