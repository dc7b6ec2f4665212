// ESM-2's language-model head: logits = decoder(norm(gelu(dense(h)))) + bias, the decoder tied to the
// embedding or not. Always f32: it runs on the scored rows only, and 33 outputs decide every score.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mem/context.h"
#include "nn/linear.h"

namespace biowarp {

class LmHead {
 public:
  // hidden C, vocabulary V. decoder_name: the parameter with the decoder's weight [V, C].
  LmHead(std::int64_t hidden, std::int64_t vocabulary, float layer_norm_eps, const ParamReader& read,
         const std::string& decoder_name);

  // Working memory per worker.
  class Scratch {
   public:
    Scratch(std::int64_t hidden, ArenaLayout& layout);

   private:
    friend class LmHead;
    Slot product_, normed_;
  };

  // h [count, C] f32 -> logits [count, V]; count a multiple of kRowQuantum, at most kPanelRows
  void forward(Context& lane, const Scratch& scratch, const float* h, std::int64_t count, float* logits) const;

  std::int64_t vocabulary() const { return vocabulary_; }
  std::int64_t bytes() const { return dense_.bytes() + decoder_.bytes(); }

 private:
  std::int64_t hidden_, vocabulary_;
  float layer_norm_eps_;
  Linear dense_, decoder_;
  std::vector<float> norm_weight_, norm_bias_;  // [C]
};

}  // namespace biowarp
