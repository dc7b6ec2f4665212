// The plain loops every other row is tested against.
#include "base/half.h"
#include "ops/gemm/gemm_rows.h"

namespace biowarp {
namespace {

class Reference : public GemmWeights {
 public:
  explicit Reference(const PlainWeights& plain) : plain_(plain) {}

  std::int64_t bytes() const override {
    return static_cast<std::int64_t>(plain_.f32.size() * 4 + plain_.bf16.size() * 2 + plain_.int8.size());
  }

  void run(const void* x, std::int64_t rows, void* y) const override {
    const std::int64_t K = desc_.in, N = desc_.out;
    for (std::int64_t m = 0; m < rows; ++m) {
      for (std::int64_t n = 0; n < N; ++n) {
        if (desc_.precision == Precision::int8) {
          static_cast<std::int32_t*>(y)[m * N + n] = int8_dot(static_cast<const std::uint8_t*>(x) + m * K, n);
        } else {
          static_cast<float*>(y)[m * N + n] = static_cast<float>(dot(x, m, n) + bias_[static_cast<std::size_t>(n)]);
        }
      }
    }
  }

 private:
  double dot(const void* x, std::int64_t m, std::int64_t n) const {
    const std::int64_t K = desc_.in;
    double sum = 0;
    for (std::int64_t k = 0; k < K; ++k) {
      if (desc_.precision == Precision::bf16) {
        sum += static_cast<double>(bf16_to_f32(static_cast<const std::uint16_t*>(x)[m * K + k])) *
               bf16_to_f32(plain_.bf16[static_cast<std::size_t>(n * K + k)]);
      } else {
        sum += static_cast<double>(static_cast<const float*>(x)[m * K + k]) *
               plain_.f32[static_cast<std::size_t>(n * K + k)];
      }
    }
    return sum;
  }

  std::int32_t int8_dot(const std::uint8_t* x, std::int64_t n) const {
    std::int32_t sum = 0;
    const std::int8_t* w = plain_.int8.data() + n * desc_.in;
    for (std::int64_t k = 0; k < desc_.in; ++k) sum += std::int32_t{x[k]} * w[k];
    return sum;
  }

  PlainWeights plain_;
};

std::string refuse(const GemmDesc&) { return {}; }
std::unique_ptr<GemmWeights> pack(const PlainWeights& plain) { return std::make_unique<Reference>(plain); }

}  // namespace

const GemmRow kGemmReference{"reference", refuse, pack};

}  // namespace biowarp
