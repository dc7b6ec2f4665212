// A loaded ESM-2 model and what it computes for sequences in memory. Files and whole jobs: tasks.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "biowarp/export.h"
#include "biowarp/types.h"

namespace biowarp {

struct ModelOptions {
  // Hub name ("facebook/esm2_t33_650M_UR50D"), short name ("650M", "t33"), folder, file or "random:650M[:seed]".
  // Empty: the demonstration model that is shipped with biowarp.
  std::string name;
  std::string revision;  // hub revision; empty: main
  std::string adapter;   // folder of a PEFT LoRA adapter to merge; empty: none
  Precision precision = Precision::f32;
  int threads = 0;         // 0: every processor this process may use
  bool tanh_gelu = false;  // TransformerEngine's GELU in the MLP instead of the exact one
};

struct ModelInfo {
  std::string name, path, format, hash;
  std::int64_t layers = 0, hidden = 0, heads = 0, feed_forward = 0, vocabulary = 0;
  std::int64_t parameters = 0;
  std::int64_t weight_bytes = 0;  // as held in memory in `precision`
  Precision precision = Precision::f32;
  std::string device;  // instruction set and processor
  int threads = 0;
  bool lm_head = false, contact_head = false;
  bool demonstration = false;  // the shipped model, chosen because no name was given
  std::vector<std::string> notes;
};

// called with (sequences done, sequences in all)
using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

struct EncodeOptions {
  std::vector<int> layers{-1};  // 0 .. layers; negative counts from the end, -1 = after the final norm
  std::vector<Pooling> pooling{Pooling::mean};
  bool per_residue = false;
  std::int64_t tokens = 0;  // token budget of a batch; 0: chosen from the model and free memory
  Progress progress;
};

struct Embeddings {
  std::int64_t count = 0;   // n
  std::int64_t layers = 0;  // number of layers asked for
  std::int64_t poolings = 0;
  std::int64_t hidden = 0;  // C
  // [n, poolings, layers, C], sequences in input order, layers ascending; zeros where mean or max has no residues
  std::vector<float> pooled;
  std::vector<std::vector<float>> per_residue;  // n times [layers, L_i, C]; empty unless asked for
};

struct MaskedLoss {
  double loss = 0;             // mean negative log likelihood (natural log) over scored positions
  double perplexity = 0;       // exp(loss)
  std::int64_t positions = 0;  // scored
};

// Shared, read-only; copies are cheap. All calls are thread safe; concurrent calls queue for the processors.
// A letter that cannot be read throws Error(input) naming the sequence number, character and column.
class BIOWARP_API Model {
 public:
  static Model load(const ModelOptions& options = {});

  const ModelInfo& info() const;

  Embeddings encode(std::span<const std::string> sequences, const EncodeOptions& options = {}) const;

  // [L + 2, 33] f32 for one sequence: rows are begin token, residues, end token.
  std::vector<float> logits(const std::string& sequence) const;

  // [L, L] f32 contact probabilities. Throws Error(input) when the model has no trained contact head.
  std::vector<float> contacts(const std::string& sequence) const;

  // Pseudo-log-likelihood of a sequence: residue i scored with only residue i masked. [L] natural logs.
  std::vector<double> pseudo_log_likelihood(const std::string& sequence) const;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  explicit Model(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace biowarp
