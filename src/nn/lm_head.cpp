#include "nn/lm_head.h"

#include "ops/activation/gelu.h"
#include "ops/layernorm/layernorm.h"

namespace biowarp {

LmHead::LmHead(std::int64_t hidden, std::int64_t vocabulary, float layer_norm_eps, const ParamReader& read,
               const std::string& decoder_name)
    : hidden_(hidden),
      vocabulary_(vocabulary),
      layer_norm_eps_(layer_norm_eps),
      dense_({hidden, hidden, Precision::f32}, read, "lm_head.dense"),
      decoder_({hidden, vocabulary, Precision::f32}, read, decoder_name, read_vector(read, "lm_head.bias", vocabulary)),
      norm_weight_(read_vector(read, "lm_head.norm.weight", hidden)),
      norm_bias_(read_vector(read, "lm_head.norm.bias", hidden)) {}

LmHead::Scratch::Scratch(std::int64_t hidden, ArenaLayout& layout)
    : product_(layout.book("head.product", kPanelRows * hidden * 4)),
      normed_(layout.book("head.normed", kPanelRows * hidden * 4)) {}

void LmHead::forward(Context& lane, const Scratch& scratch, const float* h, std::int64_t count, float* logits) const {
  float *product = lane.scratch<float>(scratch.product_), *normed = lane.scratch<float>(scratch.normed_);
  const Accumulator dense = dense_.forward(lane, {h, nullptr, nullptr}, count, product);
  gelu(lane, {dense, count, hidden_, false, product, DType::f32});
  layernorm(lane,
            {product, count, hidden_, norm_weight_.data(), norm_bias_.data(), layer_norm_eps_, normed, DType::f32});
  decoder_.forward(lane, {normed, nullptr, nullptr}, count, logits);
}

}  // namespace biowarp
