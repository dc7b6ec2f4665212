// The embed job over a model (biowarp/embed.h).
#include "biowarp/embed.h"

#include <array>
#include <utility>

#include "base/environment.h"
#include "base/fail.h"
#include "tasks/embed_job.h"
#include "tasks/engine.h"
#include "tasks/peak.h"

namespace biowarp {
namespace {

constexpr std::array<std::pair<std::string_view, LongPolicy>, 4> kLongPolicies{{{"full", LongPolicy::full},
                                                                                {"truncate", LongPolicy::truncate},
                                                                                {"window", LongPolicy::window},
                                                                                {"error", LongPolicy::error}}};

// Multiplications and additions of one batch in the matrix products and in attention.
double flops_of(const PackedBatch& batch, const Esm2Config& config) {
  const auto hidden = static_cast<double>(config.hidden), wide = static_cast<double>(config.feed_forward);
  double products = static_cast<double>(batch.rows()) * (8 * hidden * hidden + 4 * hidden * wide);
  for (std::int64_t n = 0; n < batch.sequences(); ++n) {
    const auto length = static_cast<double>(batch.length(n));
    products += 4 * length * length * hidden;
  }
  return products * static_cast<double>(config.layers);
}

}  // namespace

std::string_view name_of(LongPolicy policy) {
  for (const auto& [name, value] : kLongPolicies) {
    if (value == policy) return name;
  }
  return "";
}

LongPolicy parse_long_policy(std::string_view text) {
  for (const auto& [name, value] : kLongPolicies) {
    if (name == text) return value;
  }
  fail_usage("expected --long full, truncate, window or error, got '{}'", text);
}

EmbedSummary embed(const Model& model, const EmbedJob& job) {
  Engine& engine = *model.impl()->engine;
  const ModelInfo& info = model.info();
  EmbedSettings settings = resolve_job(job, info, resolve_layers(job.layers, engine.config()));
  settings.largest_tokens = engine.largest_sequence();
  if (settings.token_budget == 0) settings.token_budget = engine.default_token_budget();

  double flops = 0;
  const ForwardPass forward = [&](const PackedBatch& batch, const LayerSink& sink) {
    engine.with_session(batch.rows(), [&](Esm2Session& session, Context& context) {
      std::int64_t layer = 0;
      session.forward(batch, settings.layout.layers, [&](int, const float* hidden) { sink(context, layer++, hidden); });
    });
    flops += flops_of(batch, engine.config());
  };
  EmbedSummary summary = run_embed_job(job, settings, forward);
  summary.model = info.name;
  summary.model_hash = info.hash;
  summary.device = info.device;
  summary.precision = info.precision;
  summary.demonstration = info.demonstration;
  summary.flops = flops;
  summary.peak_bytes = peak_resident_bytes();
  if (job.measure_peak) {
    engine.with_session(1, [&](Esm2Session&, Context& context) {
      summary.peak_flops_per_second = measure_peak(context, info.precision);
    });
  }
  return summary;
}

}  // namespace biowarp
