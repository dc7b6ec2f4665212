// A fixed set of threads that run one job at a time, all of them at once.
//
// The calling thread is worker 0. Concurrent callers queue. After fork() the child finds its pool without threads and
// starts its own on first use. Results never depend on the number of threads: jobs hand out work by index and every
// index computes the same thing whoever takes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace biowarp {

class ThreadPool {
 public:
  // threads >= 1; 0 means usable_processors().
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept { return threads_; }

  // Calls body(worker) once on every worker, 0 <= worker < size(), and waits. The first exception is rethrown.
  void run(const std::function<void(int worker)>& body);

  // Calls body(worker, index) for every 0 <= index < count, in no fixed order, and waits.
  void parallel_for(std::int64_t count, const std::function<void(int worker, std::int64_t index)>& body);

 private:
  struct State;
  State& state();
  int threads_;
  std::unique_ptr<State> state_;
};

}  // namespace biowarp
