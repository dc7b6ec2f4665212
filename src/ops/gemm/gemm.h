// Matrix products with packed weights: the linear layers of the models.
//
//   y[m,n] = sum_k x[m,k] w[n,k] + bias[n]         x [M,K], w [N,K] (BLAS: row-major, w transposed), y [M,N]
//
//   f32    x f32, w f32, y f32 with bias
//   bf16   x bf16, w bf16 (rounded to nearest even), f32 sums, y f32 with bias
//   int8   x u8 codes of quantize_rows, w i8 codes of quantize_channel, y i32 sums; scales and bias are
//   applied by the
//          pass that follows, through an Accumulator (ops/common/accumulator.h)
//
// Weights are packed once, for one implementation; a product runs on the calling thread over a panel of rows.
// A row of y depends on the same row of x alone: the same bits in any panel of any size at any position
// (checked by the tests for every implementation in the list).
//
// Implementations, best first: amx (bf16 and int8, own kernel), onednn (f32 from AVX-512, bf16 from AVX512-BF16 or AMX,
// int8 from VNNI or AMX), simd (f32, Highway: AVX2, AVX-512, NEON), reference (any precision, plain loops, f64 sums).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mem/context.h"
#include "ops/common/accumulator.h"

namespace biowarp {

// Panels have a multiple of kRowQuantum rows and at most kPanelRows.
constexpr std::int64_t kRowQuantum = 32;
constexpr std::int64_t kPanelRows = 256;

struct GemmDesc {
  std::int64_t in = 0;   // K
  std::int64_t out = 0;  // N
  Precision precision = Precision::f32;
};

// Fills `out` [count, K] with rows first .. first+count-1 of w.
using WeightReader = std::function<void(std::int64_t first, std::int64_t count, float* out)>;

class GemmWeights {
 public:
  virtual ~GemmWeights() = default;

  const GemmDesc& desc() const { return desc_; }
  const char* implementation() const { return implementation_; }
  const float* bias() const { return bias_.data(); }                  // [N]
  const float* column_scale() const { return column_scale_.data(); }  // [N] int8 only
  const float* column_sum() const { return column_sum_.data(); }      // [N] int8 only
  virtual std::int64_t bytes() const = 0;

 protected:
  friend class GemmPacker;
  friend void gemm(Context& lane, const GemmWeights& weights, const void* x, std::int64_t rows, void* y);
  // rows: a multiple of kRowQuantum, at most kPanelRows. x [rows, K], y [rows, N], contiguous, apart.
  virtual void run(const void* x, std::int64_t rows, void* y) const = 0;

  GemmDesc desc_;
  const char* implementation_ = "";
  std::vector<float> bias_, column_scale_, column_sum_;
};

// bias [N] or null for zeros. Reads w once, through about N*K elements of temporary memory.
std::unique_ptr<const GemmWeights> pack_gemm(const GemmDesc& desc, const WeightReader& w, const float* bias);

// One panel on the calling thread.
void gemm(Context& lane, const GemmWeights& weights, const void* x, std::int64_t rows, void* y);

// Name of the implementation that pack_gemm would take.
std::string gemm_implementation(const GemmDesc& desc);

// Numbers of the rows, for tests and benchmarks: every name in the list, and why one cannot take `desc`.
std::vector<std::string> gemm_rows();
std::string gemm_objection(const std::string& row, const GemmDesc& desc);

}  // namespace biowarp
