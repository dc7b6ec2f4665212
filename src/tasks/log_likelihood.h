// Log-probabilities that the language-model head gives to chosen letters at chosen residues.
//
// Letters: L residues of a sequence, V vocabulary (33 tokens; the softmax runs over all of them, as in
// fair-esm and HF transformers).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tasks/engine.h"

namespace biowarp {

// Throws Error(input) that names the model when it has no language-model head.
void require_lm_head(const Engine& engine);

// log softmax(logits)[token] in f64; logits [V].
double log_probability(std::span<const float> logits, std::int32_t token);

// A letter to score: natural log of the probability of `token` at residue `residue` (0-based).
struct ScoredResidue {
  std::int64_t residue = 0;
  std::uint8_t token = 0;
};

// Packs sequences into batches, runs them, and hands back log-probabilities in the order of add(). Only
// scored rows pass the language-model head.
class ResidueScorer {
 public:
  // `source` as given to add(); one value per ScoredResidue.
  using Sink = std::function<void(std::int64_t source, std::span<const double> log_probabilities)>;

  // tokens: budget of a batch; 0 takes the engine's default. A longer sequence makes a batch of its own.
  ResidueScorer(Engine& engine, std::int64_t tokens, Sink sink);

  // residues [L] as the model sees them (masked already). A sequence without scored residues costs nothing,
  // and its empty answer comes in turn.
  void add(std::span<const std::uint8_t> residues, std::span<const ScoredResidue> scored, std::int64_t source);

  // Runs what is waiting.
  void flush();

 private:
  struct Waiting {
    std::int64_t source;
    std::int64_t scored;  // number of entries in rows_ and tokens_
  };

  Engine& engine_;
  std::int64_t budget_;
  Sink sink_;
  PackedBatch batch_;
  std::vector<Waiting> waiting_;
  std::vector<std::int64_t> rows_;    // [R] rows of the batch to score
  std::vector<std::int32_t> tokens_;  // [R] letters to score there
};

// Pseudo-log-likelihoods [L]: residue i scored with only residue i masked. The L masked copies fill batches
// of `tokens` (0: the engine's default), so memory does not grow with L^2.
std::vector<double> pseudo_log_likelihoods(Engine& engine, std::span<const std::uint8_t> residues, std::int64_t tokens);

}  // namespace biowarp
