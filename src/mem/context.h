// Context: where an op runs. First argument of every op; holds no ranks and no model state.
//
// A root context carries a thread pool; an op that gets one may use all of its workers. lane(w) is one worker's own
// context: no pool, its private scratch. Ops called with a lane run on the calling thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "mem/arena.h"
#include "mem/tensor.h"

namespace biowarp {

// Time and arithmetic spent per kind of op, for `biowarp bench` and BIOWARP_TRACE=exec.
enum class OpKind : std::uint8_t { embedding, layernorm, gemm, rotary, attention, activation, quantize, pool, other };
constexpr int kOpKinds = 9;
const char* name_of(OpKind kind);

struct OpTally {
  std::array<std::int64_t, kOpKinds> nanoseconds{};
  std::array<std::int64_t, kOpKinds> flops{};  // multiply and add counted as two
};

class Context {
 public:
  // Root context over `pool`, which must outlive it. Scratch is booked with plan_scratch before the first op.
  explicit Context(ThreadPool& pool);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device device() const { return {}; }
  // Workers an op may use: the pool's size for a root context, 1 for a lane.
  int workers() const { return pool_ ? pool_->size() : 1; }

  // Makes room for `layout` in every lane. All plans share that room: what an op leaves there is gone with the next op,
  // and earlier plans stay good. Not while an op runs.
  void plan_scratch(const ArenaLayout& layout);
  // This lane's part of the planned scratch (lane 0's, for a root context).
  template <class T>
  T* scratch(Slot slot) const {
    return scratch_->at<T>(slot, worker_);
  }

  Context& lane(int worker) { return lanes_.empty() ? *this : *lanes_[static_cast<std::size_t>(worker)]; }

  // body(lane, index) for 0 <= index < count, on all workers of a root context, in order on a lane.
  template <class Body>
  void parallel_for(std::int64_t count, Body&& body) {
    if (!pool_) {
      for (std::int64_t index = 0; index < count; ++index) body(*this, index);
      return;
    }
    pool_->parallel_for(count, [&](int worker, std::int64_t index) { body(lane(worker), index); });
  }

  void set_profiling(bool on);
  bool profiling() const { return profiling_; }
  OpTally& tally() { return tally_; }
  // Sum over all lanes, and back to zero.
  OpTally take_tally();

 private:
  Context() = default;

  ThreadPool* pool_ = nullptr;
  int worker_ = 0;
  bool profiling_ = false;
  HostArena own_scratch_;
  const HostArena* scratch_ = nullptr;
  OpTally tally_;
  std::vector<std::unique_ptr<Context>> lanes_;
};

// Adds the time between construction and destruction to a context's tally when it is profiling.
class OpTimer {
 public:
  OpTimer(Context& context, OpKind kind, std::int64_t flops = 0) : context_(context), kind_(kind), flops_(flops) {
    if (context_.profiling()) start_ = std::chrono::steady_clock::now();
  }
  ~OpTimer() {
    if (!context_.profiling()) return;
    const auto spent = std::chrono::steady_clock::now() - start_;
    const auto row = static_cast<std::size_t>(kind_);
    context_.tally().nanoseconds[row] += std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
    context_.tally().flops[row] += flops_;
  }
  OpTimer(const OpTimer&) = delete;
  OpTimer& operator=(const OpTimer&) = delete;

 private:
  Context& context_;
  OpKind kind_;
  std::int64_t flops_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace biowarp
