#include "nn/encoder_layer.h"

#include <algorithm>
#include <utility>

#include "base/cpu.h"
#include "ops/activation/gelu.h"
#include "ops/layernorm/layernorm.h"
#include "ops/residual/residual.h"

namespace biowarp {

DType EncoderShape::activation_dtype() const {
  const bool bf16 = precision == Precision::bf16 || (precision == Precision::int8 && cpu_features().avx512_bf16);
  return bf16 ? DType::bf16 : DType::f32;
}

PanelScratch::PanelScratch(const EncoderShape& shape, ArenaLayout& layout) {
  const std::int64_t C = shape.hidden, F = shape.feed_forward, widest = std::max(C, F);
  const bool int8 = shape.precision == Precision::int8;
  normed_ = layout.book("panel.normed", kPanelRows * C * 4);
  product_ = layout.book("panel.product", kPanelRows * std::max(3 * C, F) * 4);
  output_ = layout.book("panel.output", kPanelRows * C * 4);
  hidden_ = layout.book("panel.hidden", shape.precision == Precision::bf16 ? kPanelRows * F * 2 : 0);
  codes_ = layout.book("panel.codes", int8 ? kPanelRows * widest : 0);
  scale_ = layout.book("panel.scale", int8 ? kPanelRows * 4 : 0);
  zero_ = layout.book("panel.zero", int8 ? kPanelRows * 4 : 0);
}

QuantizeBuffers PanelScratch::quantize(Context& lane) const {
  return {lane.scratch<std::uint8_t>(codes_), lane.scratch<float>(scale_), lane.scratch<float>(zero_)};
}

EncoderLayer::EncoderLayer(const EncoderShape& shape, const ParamReader& read, std::string prefix)
    : shape_(shape), prefix_(std::move(prefix)) {
  const auto vector = [&](const char* name) { return read_vector(read, prefix_ + name, shape.hidden); };
  attn_norm_weight_ = vector("attn_norm.weight");
  attn_norm_bias_ = vector("attn_norm.bias");
  mlp_norm_weight_ = vector("mlp_norm.weight");
  mlp_norm_bias_ = vector("mlp_norm.bias");
}

void EncoderLayer::pack(int which, const ParamReader& read) {
  const std::int64_t C = shape_.hidden, F = shape_.feed_forward;
  const Precision precision = shape_.precision;
  switch (which) {
    case 0: qkv_ = Linear({C, 3 * C, precision}, read, prefix_ + "qkv"); break;
    case 1: attn_out_ = Linear({C, C, precision}, read, prefix_ + "attn_out"); break;
    case 2: fc1_ = Linear({C, F, precision}, read, prefix_ + "fc1"); break;
    case 3: fc2_ = Linear({F, C, precision}, read, prefix_ + "fc2"); break;
  }
}

Operand EncoderLayer::normed_operand(Context& lane, const PanelScratch& scratch, const Rows& rows,
                                     const std::vector<float>& weight, const std::vector<float>& bias) const {
  const DType dtype = shape_.precision == Precision::bf16 ? DType::bf16 : DType::f32;
  void* normed = scratch.normed(lane);
  layernorm(lane,
            {rows.x, rows.count, shape_.hidden, weight.data(), bias.data(), shape_.layer_norm_eps, normed, dtype});
  return as_operand(lane, shape_.precision, normed, dtype, rows.count, shape_.hidden, scratch.quantize(lane));
}

void EncoderLayer::attention_inputs(Context& lane, const PanelScratch& scratch, const Rows& rows,
                                    const std::int32_t* positions, const RotaryTable& rotary, void* qkv) const {
  const Operand normed = normed_operand(lane, scratch, rows, attn_norm_weight_, attn_norm_bias_);
  const Accumulator product = qkv_.forward(lane, normed, rows.count, scratch.product(lane));
  rotary_qkv(lane, {product, rows.count, shape_.heads, shape_.head_width(), positions, &rotary, qkv,
                    shape_.activation_dtype()});
}

void EncoderLayer::finish(Context& lane, const PanelScratch& scratch, const Rows& rows, const void* attended) const {
  const std::int64_t C = shape_.hidden, F = shape_.feed_forward;
  const QuantizeBuffers quantize = scratch.quantize(lane);
  const Operand a = as_operand(lane, shape_.precision, attended, shape_.activation_dtype(), rows.count, C, quantize);
  add_residual(lane, {attn_out_.forward(lane, a, rows.count, scratch.output(lane)), rows.count, C, rows.x});

  const Operand normed = normed_operand(lane, scratch, rows, mlp_norm_weight_, mlp_norm_bias_);
  const Accumulator up = fc1_.forward(lane, normed, rows.count, scratch.product(lane));
  const bool bf16 = shape_.precision == Precision::bf16;
  const DType dtype = bf16 ? DType::bf16 : DType::f32;
  void* hidden = bf16 ? scratch.hidden(lane) : scratch.product(lane);
  gelu(lane, {up, rows.count, F, shape_.tanh_gelu, hidden, dtype});
  const Operand h = as_operand(lane, shape_.precision, hidden, dtype, rows.count, F, quantize);
  add_residual(lane, {fc2_.forward(lane, h, rows.count, scratch.output(lane)), rows.count, C, rows.x});
}

std::int64_t EncoderLayer::bytes() const {
  const auto norms = static_cast<std::int64_t>(4 * attn_norm_weight_.size() * sizeof(float));
  return norms + qkv_.bytes() + attn_out_.bytes() + fc1_.bytes() + fc2_.bytes();
}

}  // namespace biowarp
