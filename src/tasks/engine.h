// Engine: a loaded model with the threads and the working memory that run it. What Model (public) holds and
// what every task drives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "biowarp/model.h"
#include "models/esm2.h"

namespace biowarp {

class Engine {
 public:
  static std::shared_ptr<Engine> load(const ModelOptions& options);

  const ModelInfo& info() const { return info_; }
  const Esm2Config& config() const { return model_->config(); }

  // Tokens of a batch when the caller names none: large enough to keep every worker busy, small enough for
  // the cache and for a quarter of the free memory.
  std::int64_t default_token_budget() const;

  // Largest number of tokens of one sequence that free memory allows.
  std::int64_t largest_sequence() const;

  // Runs `body` with a session for at least `tokens` tokens; one caller at a time. The session lives on for
  // the next call and grows when a longer batch comes. Throws Error(device) when memory is refused.
  void with_session(std::int64_t tokens, const std::function<void(Esm2Session&, Context&)>& body);

 private:
  Engine() = default;

  ModelInfo info_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Context> context_;
  std::shared_ptr<const Esm2> model_;
  std::mutex running_;
  std::unique_ptr<Esm2Session> session_;
};

// Layer numbers 0..layers from what a person gave (negative from the end): ascending, without repeats.
// Throws Error(usage) naming the valid range.
std::vector<int> resolve_layers(const std::vector<int>& asked, const Esm2Config& config);

}  // namespace biowarp

// Model's implementation is an engine.
struct biowarp::Model::Impl {
  std::shared_ptr<biowarp::Engine> engine;
};
