// One pre-norm transformer layer, cut at attention: what comes before it and what comes after it work on
// panels of rows.
//   attention_inputs   qkv = rotary(qkv_linear(attn_norm(x)))
//   finish             x += attn_out(a);  x += fc2(gelu(fc1(mlp_norm(x))))
//
// The residual stream x is f32 in every precision. qkv and a have activation_dtype(): f32, or bf16 for bf16
// and, where the processor multiplies bf16, for int8.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mem/context.h"
#include "nn/linear.h"
#include "ops/rotary/rotary.h"

namespace biowarp {

struct EncoderShape {
  std::int64_t hidden = 0;        // C
  std::int64_t heads = 0;         // H
  std::int64_t feed_forward = 0;  // F
  float layer_norm_eps = 1e-5f;
  bool tanh_gelu = false;
  Precision precision = Precision::f32;

  std::int64_t head_width() const { return hidden / heads; }
  DType activation_dtype() const;
};

// Per-worker working memory of a layer.
class PanelScratch {
 public:
  PanelScratch(const EncoderShape& shape, ArenaLayout& layout);

  void* normed(Context& lane) const { return lane.scratch<std::byte>(normed_); }    // [kPanelRows, C] f32 or bf16
  void* product(Context& lane) const { return lane.scratch<std::byte>(product_); }  // [kPanelRows, max(3C, F)] 4 bytes
  void* output(Context& lane) const { return lane.scratch<std::byte>(output_); }    // [kPanelRows, C] 4 bytes
  void* hidden(Context& lane) const { return lane.scratch<std::byte>(hidden_); }    // [kPanelRows, F] bf16, bf16 only
  QuantizeBuffers quantize(Context& lane) const;                                    // K up to max(C, F), int8 only

 private:
  Slot normed_, product_, output_, hidden_, codes_, scale_, zero_;
};

class EncoderLayer {
 public:
  static constexpr int kLinears = 4;

  // Reads the norms; weights come with pack().
  EncoderLayer(const EncoderShape& shape, const ParamReader& read, std::string prefix);

  // Packs one of the four linear layers, 0 <= which < kLinears. Different ones may be packed at the same
  // time.
  void pack(int which, const ParamReader& read);

  struct Rows {
    float* x;            // [rows, C] residual stream
    std::int64_t count;  // a multiple of kRowQuantum, at most kPanelRows
  };

  // positions [count]; qkv [count, H*3*D] in activation_dtype
  void attention_inputs(Context& lane, const PanelScratch& scratch, const Rows& rows, const std::int32_t* positions,
                        const RotaryTable& rotary, void* qkv) const;
  // attended [count, C] in activation_dtype
  void finish(Context& lane, const PanelScratch& scratch, const Rows& rows, const void* attended) const;

  std::int64_t bytes() const;

 private:
  Operand normed_operand(Context& lane, const PanelScratch& scratch, const Rows& rows, const std::vector<float>& weight,
                         const std::vector<float>& bias) const;

  EncoderShape shape_;
  std::string prefix_;
  std::vector<float> attn_norm_weight_, attn_norm_bias_, mlp_norm_weight_, mlp_norm_bias_;  // [C]
  Linear qkv_, attn_out_, fc1_, fc2_;
};

}  // namespace biowarp
