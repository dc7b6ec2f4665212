#include "mem/context.h"

namespace biowarp {

const char* name_of(OpKind kind) {
  switch (kind) {
    case OpKind::embedding: return "embedding";
    case OpKind::layernorm: return "layernorm";
    case OpKind::gemm: return "gemm";
    case OpKind::rotary: return "rotary";
    case OpKind::attention: return "attention";
    case OpKind::activation: return "activation";
    case OpKind::quantize: return "quantize";
    case OpKind::pool: return "pool";
    case OpKind::other: return "other";
  }
  return "other";
}

Context::Context(ThreadPool& pool) : pool_(&pool), scratch_(&own_scratch_) {
  for (int worker = 0; worker < pool.size(); ++worker) {
    auto lane = std::unique_ptr<Context>(new Context());
    lane->worker_ = worker;
    lane->scratch_ = &own_scratch_;
    lanes_.push_back(std::move(lane));
  }
}

void Context::plan_scratch(const ArenaLayout& layout) {
  if (layout.bytes() > own_scratch_.copy_bytes()) own_scratch_ = HostArena(layout, pool_->size());
}

void Context::set_profiling(bool on) {
  profiling_ = on;
  for (auto& lane : lanes_) lane->profiling_ = on;
}

OpTally Context::take_tally() {
  OpTally sum = tally_;
  tally_ = {};
  for (auto& lane : lanes_) {
    for (std::size_t row = 0; row < kOpKinds; ++row) {
      sum.nanoseconds[row] += lane->tally_.nanoseconds[row];
      sum.flops[row] += lane->tally_.flops[row];
    }
    lane->tally_ = {};
  }
  return sum;
}

}  // namespace biowarp
