// Model: what an engine computes for sequences in memory.
//
// Letters: n sequences, L residues of one of them, T packed tokens, C hidden, V vocabulary.
#include "biowarp/model.h"

#include <algorithm>
#include <numeric>

#include "base/fail.h"
#include "ops/pool/pool.h"
#include "seq/alphabet.h"
#include "tasks/contact_map.h"
#include "tasks/engine.h"
#include "tasks/letters.h"
#include "tasks/log_likelihood.h"

namespace biowarp {
namespace {

using Tokens = std::vector<std::uint8_t>;

// Writes one batch's rows into an Embeddings whose sizes are set.
class Collector {
 public:
  Collector(Embeddings& out, std::vector<int> layers, const EncodeOptions& options, std::int64_t hidden)
      : out_(out), layers_(std::move(layers)), options_(options), hidden_(hidden) {}

  void operator()(Context& context, const PackedBatch& batch, int layer, const float* rows) {
    const auto slot = std::find(layers_.begin(), layers_.end(), layer) - layers_.begin();
    pool(context, batch, slot, rows);
    if (options_.per_residue) copy_residues(batch, slot, rows);
  }

 private:
  // pooled [n, poolings, layers, C] <- rows [T, C]; a batch holds consecutive sequences
  void pool(Context& context, const PackedBatch& batch, std::int64_t slot, const float* rows) {
    for (std::int64_t p = 0; p < out_.poolings; ++p) {
      PoolArgs args;
      args.hidden = rows;
      args.cu_lens = batch.cu_lens;
      args.width = hidden_;
      args.pooling = options_.pooling[static_cast<std::size_t>(p)];
      args.out = out_.pooled.data() + ((batch.source[0] * out_.poolings + p) * out_.layers + slot) * hidden_;
      args.out_stride = out_.poolings * out_.layers * hidden_;
      pool_rows(context, args);
    }
  }

  // per_residue[i] [layers, L_i, C] <- rows [T, C]
  void copy_residues(const PackedBatch& batch, std::int64_t slot, const float* rows) {
    for (std::int64_t s = 0; s < batch.sequences(); ++s) {
      const std::int64_t values = (batch.length(s) - 2) * hidden_;
      std::vector<float>& target = out_.per_residue[static_cast<std::size_t>(batch.source[s])];
      target.resize(static_cast<std::size_t>(out_.layers * values));
      std::copy_n(rows + (batch.cu_lens[s] + 1) * hidden_, values, target.data() + slot * values);
    }
  }

  Embeddings& out_;
  std::vector<int> layers_;
  const EncodeOptions& options_;
  std::int64_t hidden_;
};

std::vector<Tokens> read_all(std::span<const std::string> sequences) {
  std::vector<Tokens> all;
  all.reserve(sequences.size());
  for (const std::string& letters : sequences) {
    all.push_back(residues_or_fail(letters, static_cast<std::int64_t>(all.size()) + 1));
  }
  return all;
}

}  // namespace

Model Model::load(const ModelOptions& options) { return Model(std::make_shared<Impl>(Impl{Engine::load(options)})); }

const ModelInfo& Model::info() const { return impl_->engine->info(); }

Embeddings Model::encode(std::span<const std::string> sequences, const EncodeOptions& options) const {
  Engine& engine = *impl_->engine;
  const std::vector<int> layers = resolve_layers(options.layers, engine.config());
  if (options.tokens < 0) fail_usage("expected a token budget >= 0, got {}", options.tokens);
  const std::int64_t budget = options.tokens > 0 ? options.tokens : engine.default_token_budget();
  const std::vector<Tokens> residues = read_all(sequences);

  Embeddings out;
  out.count = static_cast<std::int64_t>(sequences.size());
  out.layers = static_cast<std::int64_t>(layers.size());
  out.poolings = static_cast<std::int64_t>(options.pooling.size());
  out.hidden = engine.config().hidden;
  out.pooled.resize(static_cast<std::size_t>(out.count * out.poolings * out.layers * out.hidden));
  if (options.per_residue) out.per_residue.resize(sequences.size());

  Collector collect(out, layers, options, out.hidden);
  PackedBatch batch;
  std::int64_t done = 0;
  const auto flush = [&] {
    if (batch.rows() == 0) return;
    engine.with_session(std::max(budget, batch.rows()), [&](Esm2Session& session, Context& context) {
      session.forward(batch, layers, [&](int layer, const float* rows) { collect(context, batch, layer, rows); });
    });
    done += batch.sequences();
    batch.clear();
    if (options.progress) options.progress(done, out.count);
  };
  for (std::int64_t i = 0; i < out.count; ++i) {
    const Tokens& tokens = residues[static_cast<std::size_t>(i)];
    if (batch.rows() + static_cast<std::int64_t>(tokens.size()) + 2 > budget) flush();
    batch.add(tokens, i);
  }
  flush();
  return out;
}

std::vector<float> Model::logits(const std::string& sequence) const {
  Engine& engine = *impl_->engine;
  require_lm_head(engine);
  PackedBatch batch;
  batch.add(residues_or_fail(sequence, 1), 0);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(batch.rows()));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  std::vector<float> out(rows.size() * static_cast<std::size_t>(engine.config().vocabulary));
  engine.with_session(batch.rows(), [&](Esm2Session& session, Context&) {
    session.forward(batch, {}, {});
    session.logits(rows, out.data());
  });
  return out;
}

std::vector<float> Model::contacts(const std::string& sequence) const {
  require_contact_head(*impl_->engine);
  return contact_map(*impl_->engine, residues_or_fail(sequence, 1));
}

std::vector<double> Model::pseudo_log_likelihood(const std::string& sequence) const {
  require_lm_head(*impl_->engine);
  return pseudo_log_likelihoods(*impl_->engine, residues_or_fail(sequence, 1), 0);
}

}  // namespace biowarp
