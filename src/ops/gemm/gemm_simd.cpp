// f32 products with our own register-blocked kernel (Highway): 6 rows by a strip of kStrip outputs. The row
// for machines where oneDNN's f32 kernels are missing or do not keep a row's bits (AVX2, NEON).
//
// Weights are packed as [N / kStrip][K][kStrip], the last strip padded with zeros. Sums run over blocks of
// kBlock inputs, each block in order, blocks added in order: the same for every row and every panel.
#include "ops/common/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/gemm_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <vector>

#include "base/cpu.h"
#include "ops/common/simd-inl.h"
#include "ops/gemm/gemm_rows.h"

HWY_BEFORE_NAMESPACE();
namespace biowarp {
namespace HWY_NAMESPACE {
namespace {

constexpr int kVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;
constexpr std::int64_t kStrip = kVectors * kLanes;
constexpr int kRows = 6;
constexpr std::int64_t kBlock = 512;

// y[kR, kStrip] (= bias or +=) x[kR, k0:k1] * strip; x rows are K apart, `sums` rows kStrip apart.
template <int kR>
HWY_NOINLINE void block_kernel(const float* x, std::int64_t K, const float* strip, std::int64_t inputs, float* sums) {
  const F32 d;
  VF sum[kR][kVectors];
  unroll<kR>([&](auto i) BIOWARP_LAMBDA { unroll<kVectors>([&](auto j) BIOWARP_LAMBDA { sum[i][j] = hn::Zero(d); }); });
  for (std::int64_t k = 0; k < inputs; ++k) {
    VF w[kVectors];
    unroll<kVectors>([&](auto j) BIOWARP_LAMBDA { w[j] = hn::LoadU(d, strip + k * kStrip + j * kLanes); });
    unroll<kR>([&](auto i) BIOWARP_LAMBDA {
      const VF value = hn::Set(d, x[i * K + k]);
      unroll<kVectors>([&](auto j) BIOWARP_LAMBDA { sum[i][j] = hn::MulAdd(value, w[j], sum[i][j]); });
    });
  }
  unroll<kR>([&](auto i) BIOWARP_LAMBDA {
    unroll<kVectors>([&](auto j) BIOWARP_LAMBDA {
      float* at = sums + i * kStrip + j * kLanes;
      hn::StoreU(hn::Add(hn::LoadU(d, at), sum[i][j]), d, at);
    });
  });
}

// One strip of outputs for kR rows: y [kR, outputs] with rows N apart, bias [outputs].
template <int kR>
void strip_rows(const float* x, std::int64_t K, const float* strip, const float* bias, std::int64_t outputs, float* y,
                std::int64_t N) {
  alignas(64) float sums[kR * kStrip] = {};
  for (int i = 0; i < kR; ++i) std::copy_n(bias, outputs, sums + i * kStrip);
  for (std::int64_t k = 0; k < K; k += kBlock) {
    block_kernel<kR>(x + k, K, strip + k * kStrip, std::min(kBlock, K - k), sums);
  }
  for (int i = 0; i < kR; ++i) std::copy_n(sums + i * kStrip, outputs, y + i * N);
}

}  // namespace

std::int64_t strip_width() { return kStrip; }

// x [rows, K], packed as above, y [rows, N]
void product(const float* x, std::int64_t rows, std::int64_t K, const float* packed, const float* bias, std::int64_t N,
             float* y) {
  for (std::int64_t n = 0; n < N; n += kStrip) {
    const float* strip = packed + n * K;
    const std::int64_t outputs = std::min(kStrip, N - n);
    std::int64_t m = 0;
    for (; m + kRows <= rows; m += kRows) strip_rows<kRows>(x + m * K, K, strip, bias + n, outputs, y + m * N + n, N);
    for (; m + 2 <= rows; m += 2) strip_rows<2>(x + m * K, K, strip, bias + n, outputs, y + m * N + n, N);
    for (; m < rows; ++m) strip_rows<1>(x + m * K, K, strip, bias + n, outputs, y + m * N + n, N);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace biowarp
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace biowarp {

HWY_EXPORT(strip_width);
HWY_EXPORT(product);

namespace {

class Simd : public GemmWeights {
 public:
  explicit Simd(const PlainWeights& plain) : strip_(HWY_DYNAMIC_DISPATCH(strip_width)()) {
    const std::int64_t K = plain.desc.in, N = plain.desc.out, strips = (N + strip_ - 1) / strip_;
    packed_.resize(static_cast<std::size_t>(strips * strip_ * K), 0.0f);
    for (std::int64_t n = 0; n < N; ++n) {
      float* column = packed_.data() + n / strip_ * strip_ * K + n % strip_;
      for (std::int64_t k = 0; k < K; ++k) column[k * strip_] = plain.f32[static_cast<std::size_t>(n * K + k)];
    }
  }

  std::int64_t bytes() const override { return static_cast<std::int64_t>(packed_.size() * sizeof(float)); }

  void run(const void* x, std::int64_t rows, void* y) const override {
    HWY_DYNAMIC_DISPATCH(product)
    (static_cast<const float*>(x), rows, desc_.in, packed_.data(), bias_.data(), desc_.out, static_cast<float*>(y));
  }

 private:
  std::int64_t strip_;
  std::vector<float> packed_;
};

std::string refuse(const GemmDesc& desc) { return desc.precision == Precision::f32 ? "" : "f32 only"; }

std::unique_ptr<GemmWeights> pack(const PlainWeights& plain) {
  cap_simd_targets();
  return std::make_unique<Simd>(plain);
}

}  // namespace

const GemmRow kGemmSimd{"simd", refuse, pack};

}  // namespace biowarp
#endif
