#include "nn/linear.h"

#include "ops/quantize/quantize.h"

namespace biowarp {

std::vector<float> read_vector(const ParamReader& read, const std::string& name, std::int64_t length) {
  std::vector<float> values(static_cast<std::size_t>(length));
  read(name, 0, length, values.data());
  return values;
}

Linear::Linear(const GemmDesc& desc, const ParamReader& read, const std::string& name)
    : Linear(desc, read, name + ".weight", read_vector(read, name + ".bias", desc.out)) {}

Linear::Linear(const GemmDesc& desc, const ParamReader& read, const std::string& weight_name,
               const std::vector<float>& bias) {
  const WeightReader rows = [&](std::int64_t first, std::int64_t count, float* out) {
    read(weight_name, first, count, out);
  };
  weights_ = pack_gemm(desc, rows, bias.empty() ? nullptr : bias.data());
}

Accumulator Linear::forward(Context& lane, const Operand& x, std::int64_t rows, void* y) const {
  gemm(lane, *weights_, x.data, rows, y);
  const GemmDesc& desc = weights_->desc();
  if (desc.precision != Precision::int8) return {y, desc.out, false, {}};
  return {
      y, desc.out, true, {x.row_scale, x.row_zero, weights_->column_scale(), weights_->column_sum(), weights_->bias()}};
}

Operand as_operand(Context& lane, Precision precision, const void* x, DType x_dtype, std::int64_t rows,
                   std::int64_t width, const QuantizeBuffers& buffers) {
  if (precision != Precision::int8) return {x, nullptr, nullptr};
  quantize_rows(lane, {x, x_dtype, rows, width, buffers.codes, buffers.scale, buffers.zero});
  return {buffers.codes, buffers.scale, buffers.zero};
}

}  // namespace biowarp
