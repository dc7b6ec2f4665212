// ESM-2 (Lin et al. 2023, "Evolutionary-scale prediction of atomic-level protein structure with a language model"):
// a pre-norm transformer encoder with rotary positions.
//
//   x = embed[tokens] * dropout_scale, rows of <mask> zero
//   each layer:  x += attn_out(attention(rotary(qkv(attn_norm(x)))))
//                x += fc2(gelu(fc1(mlp_norm(x))))
//   hidden(layers) = final_norm(x)            hidden(i < layers) = x before layer i
//   logits = decoder(norm(gelu(dense(hidden(layers))))) + bias
//
// Letters: T packed tokens, N sequences, L residues of one sequence, C hidden, H heads, D head width, V vocabulary.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mem/context.h"
#include "models/esm2_config.h"
#include "models/param_source.h"
#include "seq/packed_batch.h"

namespace biowarp {

// Read-only weights in the layout of one precision. Shared by any number of sessions.
class Esm2 {
 public:
  // Packs weights on all workers of `context`. Throws Error(device) when the machine lacks what the precision needs.
  static std::shared_ptr<const Esm2> build(Context& context, const Esm2Config& config, const ParamSource& params,
                                           Precision precision);
  ~Esm2();

  const Esm2Config& config() const;
  Precision precision() const;
  std::int64_t weight_bytes() const;

  struct Weights;
  const Weights& weights() const { return *weights_; }

 private:
  Esm2();
  std::unique_ptr<Weights> weights_;
};

// Called with a hidden state when it is complete: layer 0..layers, hidden [T, C] f32, valid during the call only.
using HiddenSink = std::function<void(int layer, const float* hidden)>;

// Working memory for batches of up to max_tokens tokens; one batch at a time.
// Results of a sequence are the same bits whatever its batch mates, the token budget and the number of threads.
class Esm2Session {
 public:
  // `context` must outlive the session; its scratch is planned here. max_tokens >= 1.
  Esm2Session(std::shared_ptr<const Esm2> model, Context& context, std::int64_t max_tokens);
  ~Esm2Session();

  std::int64_t max_tokens() const;
  // Bytes of working memory that a session over max_tokens tokens would book.
  static std::int64_t memory_for(const Esm2Config& config, Precision precision, std::int64_t max_tokens, int workers);

  // Runs all layers. `layers`: ascending numbers of the hidden states that `sink` wants.
  // batch.rows() <= max_tokens().
  void forward(const PackedBatch& batch, std::span<const int> layers, const HiddenSink& sink);

  // Language-model logits of some rows of the batch last run: rows [R] row numbers, out [R, V] f32.
  // The model must have the head.
  void logits(std::span<const std::int64_t> rows, float* out);

  // Contact probabilities of one protein (batch of exactly one sequence of L + 2 tokens): out [L, L] f32.
  // Runs the layers itself. Memory O(L^2) whatever the number of heads. The model must have the head.
  void contacts(const PackedBatch& batch, float* out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace biowarp
