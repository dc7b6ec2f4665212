#include "ops/gemm/gemm.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "base/half.h"
#include "ops/common/impl.h"
#include "ops/common/quantize_channel.h"
#include "ops/gemm/gemm_rows.h"

namespace biowarp {
namespace {

const std::array<GemmRow, 4>& rows() {
  static const std::array<GemmRow, 4> list{kGemmAmx, kGemmOneDnn, kGemmSimd, kGemmReference};
  return list;
}

const GemmRow& choose(const GemmDesc& desc) { return choose_row<GemmRow, GemmDesc>("gemm", rows(), desc); }

// Some rows of w at a time, so that the f32 copy of a large bf16 or int8 matrix stays small.
constexpr std::int64_t kRowsAtOnce = 64;

template <class Convert>
void for_each_channel(const GemmDesc& desc, const WeightReader& w, Convert convert) {
  std::vector<float> buffer(static_cast<std::size_t>(kRowsAtOnce * desc.in));
  for (std::int64_t first = 0; first < desc.out; first += kRowsAtOnce) {
    const std::int64_t count = std::min(kRowsAtOnce, desc.out - first);
    w(first, count, buffer.data());
    for (std::int64_t i = 0; i < count; ++i) convert(first + i, buffer.data() + i * desc.in);
  }
}

}  // namespace

// Has access to what GemmWeights keeps from others.
class GemmPacker {
 public:
  static std::unique_ptr<const GemmWeights> pack(const GemmDesc& desc, const WeightReader& w, const float* bias) {
    const GemmRow& row = choose(desc);
    std::vector<float> bias_copy(static_cast<std::size_t>(desc.out), 0.0f);
    if (bias) std::copy_n(bias, desc.out, bias_copy.data());
    std::vector<float> scale, sum;
    PlainWeights plain = convert(desc, w, scale, sum);
    plain.bias = bias_copy.data();
    std::unique_ptr<GemmWeights> packed = row.pack(plain);
    packed->desc_ = desc;
    packed->implementation_ = row.name;
    packed->bias_ = std::move(bias_copy);
    packed->column_scale_ = std::move(scale);
    packed->column_sum_ = std::move(sum);
    return packed;
  }

 private:
  static PlainWeights convert(const GemmDesc& desc, const WeightReader& w, std::vector<float>& scale,
                              std::vector<float>& sum) {
    PlainWeights plain{desc, {}, {}, {}, nullptr};
    const auto elements = static_cast<std::size_t>(desc.in * desc.out);
    switch (desc.precision) {
      case Precision::f32:
        plain.f32.resize(elements);
        w(0, desc.out, plain.f32.data());
        break;
      case Precision::bf16:
        plain.bf16.resize(elements);
        for_each_channel(desc, w, [&](std::int64_t n, const float* row) {
          std::transform(row, row + desc.in, plain.bf16.data() + n * desc.in, f32_to_bf16);
        });
        break;
      case Precision::int8:
        plain.int8.resize(elements);
        scale.resize(static_cast<std::size_t>(desc.out));
        sum.resize(static_cast<std::size_t>(desc.out));
        for_each_channel(desc, w, [&](std::int64_t n, const float* row) {
          const auto channel = static_cast<std::size_t>(n);
          scale[channel] = quantize_channel(row, desc.in, plain.int8.data() + n * desc.in, &sum[channel]);
        });
        break;
    }
    return plain;
  }
};

std::unique_ptr<const GemmWeights> pack_gemm(const GemmDesc& desc, const WeightReader& w, const float* bias) {
  return GemmPacker::pack(desc, w, bias);
}

void gemm(Context& lane, const GemmWeights& weights, const void* x, std::int64_t rows, void* y) {
  assert(rows > 0 && rows % kRowQuantum == 0 && rows <= kPanelRows);
  const OpTimer timer(lane, OpKind::gemm, 2 * rows * weights.desc().in * weights.desc().out);
  weights.run(x, rows, y);
}

std::string gemm_implementation(const GemmDesc& desc) { return choose(desc).name; }

std::vector<std::string> gemm_rows() {
  std::vector<std::string> names;
  for (const GemmRow& row : rows()) names.emplace_back(row.name);
  return names;
}

std::string gemm_objection(const std::string& name, const GemmDesc& desc) {
  for (const GemmRow& row : rows()) {
    if (name == row.name) return row.why_not(desc);
  }
  fail(ErrorKind::internal, "gemm has no row named {}", name);
}

}  // namespace biowarp
