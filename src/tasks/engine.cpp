#include "tasks/engine.h"

#include <algorithm>
#include <new>
#include <set>

#include "base/cpu.h"
#include "base/environment.h"
#include "base/fail.h"
#include "models/open_model.h"

namespace biowarp {
namespace {

// The time of one thread per token is flat from batches of 2,048 to 16,384 tokens (docs/benchmarks.md), so the budget
// only has to keep workers from waiting for each other at the end of every op: four panels of 128 rows for each.
constexpr std::int64_t kRowsPerWorker = 1024;
constexpr std::int64_t kFewestTokens = 4096;
constexpr std::int64_t kMostTokens = 32768;

// Parts of the free memory that a session may book: batches of the default size, and one very long sequence.
constexpr double kDefaultShare = 0.25;
constexpr double kLongestShare = 0.9;

// Positions are 32-bit.
constexpr std::int64_t kPositionLimit = (std::int64_t{1} << 31) - 1;

double mib(std::int64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

// Largest count in [1, limit] whose session books at most `bytes`; 1 when even that is too much.
std::int64_t tokens_within(const Esm2& model, int workers, std::int64_t bytes, std::int64_t limit) {
  std::int64_t fits = 1, too_many = limit + 1;
  while (too_many - fits > 1) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    const bool ok = Esm2Session::memory_for(model.config(), model.precision(), middle, workers) <= bytes;
    (ok ? fits : too_many) = middle;
  }
  return fits;
}

std::int64_t share_of_free_memory(double share) {
  return static_cast<std::int64_t>(static_cast<double>(available_memory()) * share);
}

ModelInfo describe(const OpenedModel& opened, const Esm2& model, int threads) {
  const Esm2Config& config = opened.config;
  ModelInfo info;
  info.name = opened.name;
  info.path = opened.path;
  info.format = opened.format;
  info.hash = opened.params->hash();
  info.layers = config.layers;
  info.hidden = config.hidden;
  info.heads = config.heads;
  info.feed_forward = config.feed_forward;
  info.vocabulary = config.vocabulary;
  info.parameters = count_parameters(config);
  info.weight_bytes = model.weight_bytes();
  info.precision = model.precision();
  info.device = describe_cpu();
  info.threads = threads;
  info.lm_head = config.has_lm_head;
  info.contact_head = config.has_contact_head;
  info.demonstration = opened.demonstration;
  info.notes = opened.notes;
  return info;
}

}  // namespace

std::shared_ptr<Engine> Engine::load(const ModelOptions& options) {
  if (options.threads < 0) fail_usage("expected a number of threads >= 0, got {}", options.threads);
  const OpenedModel opened = open_model({options.name, options.revision, options.adapter, options.tanh_gelu});
  const std::shared_ptr<Engine> engine(new Engine());
  engine->pool_ = std::make_unique<ThreadPool>(options.threads);
  engine->context_ = std::make_unique<Context>(*engine->pool_);
  engine->model_ = Esm2::build(*engine->context_, opened.config, *opened.params, options.precision);
  engine->info_ = describe(opened, *engine->model_, engine->pool_->size());
  return engine;
}

std::int64_t Engine::default_token_budget() const {
  const int workers = pool_->size();
  const std::int64_t wanted = std::clamp(kRowsPerWorker * workers, kFewestTokens, kMostTokens);
  return tokens_within(*model_, workers, share_of_free_memory(kDefaultShare), wanted);
}

std::int64_t Engine::largest_sequence() const {
  return tokens_within(*model_, pool_->size(), share_of_free_memory(kLongestShare), kPositionLimit);
}

void Engine::with_session(std::int64_t tokens, const std::function<void(Esm2Session&, Context&)>& body) {
  const std::lock_guard lock(running_);
  if (!session_ || session_->max_tokens() < tokens) {
    session_.reset();  // first, so that both are never held at once
    const std::int64_t bytes = Esm2Session::memory_for(model_->config(), model_->precision(), tokens, pool_->size());
    const auto refuse = [&](std::int64_t available) {
      fail(ErrorKind::device, "a batch of {} tokens needs {:.0f} MiB of memory, {:.0f} MiB are free", tokens,
           mib(bytes), mib(available));
    };
    const std::int64_t available = available_memory();
    if (bytes > available) refuse(available);
    try {
      session_ = std::make_unique<Esm2Session>(model_, *context_, tokens);
    } catch (const std::bad_alloc&) {
      refuse(available);
    }
  }
  body(*session_, *context_);
}

std::vector<int> resolve_layers(const std::vector<int>& asked, const Esm2Config& config) {
  const int layers = static_cast<int>(config.layers);
  if (asked.empty()) fail_usage("expected at least one layer, 0 to {} or -1 to {}", layers, -layers - 1);
  std::set<int> resolved;
  for (const int layer : asked) {
    if (layer < -layers - 1 || layer > layers) {
      fail_usage("expected a layer from 0 to {} (or from -1, the last, to {}), got {}", layers, -layers - 1, layer);
    }
    resolved.insert(layer < 0 ? layers + 1 + layer : layer);
  }
  return {resolved.begin(), resolved.end()};
}

}  // namespace biowarp
