#include "tasks/log_likelihood.h"

#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "seq/alphabet.h"

namespace biowarp {
namespace {

// Bounds memory when nearly no sequence has anything to score.
constexpr std::size_t kMostWaiting = 16384;

}  // namespace

void require_lm_head(const Engine& engine) {
  if (engine.config().has_lm_head) return;
  fail_input("model {} has no language-model head (lm_head): embeddings work, logits and perplexity do not",
             engine.info().name);
}

double log_probability(std::span<const float> logits, std::int32_t token) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
  return static_cast<double>(logits[static_cast<std::size_t>(token)]) - top - std::log(sum);
}

ResidueScorer::ResidueScorer(Engine& engine, std::int64_t tokens, Sink sink)
    : engine_(engine), budget_(tokens > 0 ? tokens : engine.default_token_budget()), sink_(std::move(sink)) {}

void ResidueScorer::add(std::span<const std::uint8_t> residues, std::span<const ScoredResidue> scored,
                        std::int64_t source) {
  const auto length = static_cast<std::int64_t>(residues.size()) + 2;
  const bool full = batch_.rows() > 0 && batch_.rows() + length > budget_;
  if (full || waiting_.size() >= kMostWaiting) flush();
  if (!scored.empty()) {
    const std::int64_t first_residue = batch_.rows() + 1;
    batch_.add(residues, source);
    for (const ScoredResidue& one : scored) {
      rows_.push_back(first_residue + one.residue);
      tokens_.push_back(one.token);
    }
  }
  waiting_.push_back({source, static_cast<std::int64_t>(scored.size())});
}

void ResidueScorer::flush() {
  std::vector<double> scores(rows_.size());
  if (!rows_.empty()) {
    const auto vocabulary = static_cast<std::size_t>(engine_.config().vocabulary);
    std::vector<float> logits(rows_.size() * vocabulary);
    engine_.with_session(std::max(budget_, batch_.rows()), [&](Esm2Session& session, Context&) {
      session.forward(batch_, {}, {});
      session.logits(rows_, logits.data());
    });
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      scores[r] = log_probability({logits.data() + r * vocabulary, vocabulary}, tokens_[r]);
    }
  }
  std::size_t first = 0;
  for (const Waiting& one : waiting_) {
    sink_(one.source, {scores.data() + first, static_cast<std::size_t>(one.scored)});
    first += static_cast<std::size_t>(one.scored);
  }
  batch_.clear();
  waiting_.clear();
  rows_.clear();
  tokens_.clear();
}

std::vector<double> pseudo_log_likelihoods(Engine& engine, std::span<const std::uint8_t> residues,
                                           std::int64_t tokens) {
  std::vector<double> out(residues.size());
  ResidueScorer scorer(engine, tokens, [&](std::int64_t residue, std::span<const double> score) {
    out[static_cast<std::size_t>(residue)] = score[0];
  });
  std::vector<std::uint8_t> masked(residues.begin(), residues.end());
  for (std::size_t i = 0; i < masked.size(); ++i) {
    const ScoredResidue scored{static_cast<std::int64_t>(i), residues[i]};
    masked[i] = static_cast<std::uint8_t>(esm::kMask);
    scorer.add(masked, {&scored, 1}, scored.residue);
    masked[i] = residues[i];
  }
  scorer.flush();
  return out;
}

}  // namespace biowarp
