#include "base/thread_pool.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/environment.h"

namespace biowarp {
namespace {

// Looks at a value for a few microseconds before going to sleep on it: layers follow each other closely.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

template <class T>
void wait_while_equal(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

struct ThreadPool::State {
  pid_t owner = getpid();
  std::mutex callers;                    // one job at a time
  std::atomic<std::uint32_t> ticket{0};  // grows by one per job
  std::atomic<int> unfinished{0};        // helpers still inside the job
  std::atomic<bool> stopping{false};
  const std::function<void(int)>* body = nullptr;
  std::mutex error_lock;
  std::exception_ptr error;
  std::vector<std::thread> helpers;

  explicit State(int threads) {
    for (int worker = 1; worker < threads; ++worker) {
      helpers.emplace_back([this, worker] { serve(worker); });
    }
  }

  void stop() {
    stopping = true;
    ticket.fetch_add(1, std::memory_order_release);
    ticket.notify_all();
    for (auto& helper : helpers) helper.join();
  }

  void call(int worker) {
    try {
      (*body)(worker);
    } catch (...) {
      const std::lock_guard lock(error_lock);
      if (!error) error = std::current_exception();
    }
  }

  void serve(int worker) {
    std::uint32_t seen = 0;
    while (true) {
      wait_while_equal(ticket, seen);
      seen = ticket.load(std::memory_order_acquire);
      if (stopping) return;
      call(worker);
      if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished.notify_one();
    }
  }

  void run(const std::function<void(int)>& job) {
    const std::lock_guard lock(callers);
    body = &job;
    error = nullptr;
    unfinished.store(static_cast<int>(helpers.size()), std::memory_order_relaxed);
    ticket.fetch_add(1, std::memory_order_release);
    ticket.notify_all();
    call(0);
    for (int left = unfinished.load(std::memory_order_acquire); left != 0;
         left = unfinished.load(std::memory_order_acquire)) {
      wait_while_equal(unfinished, left);
    }
    if (error) std::rethrow_exception(error);
  }
};

ThreadPool::ThreadPool(int threads) : threads_(threads > 0 ? threads : usable_processors()) {}

ThreadPool::~ThreadPool() {
  if (!state_) return;
  if (state_->owner == getpid()) {
    state_->stop();
  } else {
    (void)state_.release();  // a forked child: those threads do not exist here and cannot be joined
  }
}

ThreadPool::State& ThreadPool::state() {
  static std::mutex making;
  const std::lock_guard lock(making);
  if (state_ && state_->owner != getpid()) (void)state_.release();
  if (!state_) state_ = std::make_unique<State>(threads_);
  return *state_;
}

void ThreadPool::run(const std::function<void(int)>& body) {
  if (threads_ == 1) return body(0);
  state().run(body);
}

void ThreadPool::parallel_for(std::int64_t count, const std::function<void(int, std::int64_t)>& body) {
  if (count <= 0) return;
  if (count == 1 || threads_ == 1) {
    for (std::int64_t index = 0; index < count; ++index) body(0, index);
    return;
  }
  std::atomic<std::int64_t> next{0};
  run([&](int worker) {
    for (std::int64_t index = next.fetch_add(1, std::memory_order_relaxed); index < count;
         index = next.fetch_add(1, std::memory_order_relaxed)) {
      body(worker, index);
    }
  });
}

}  // namespace biowarp
