#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace biowarp {
namespace {

std::int64_t sum_with(ThreadPool& pool, std::int64_t count) {
  std::atomic<std::int64_t> sum{0};
  pool.parallel_for(count, [&](int, std::int64_t i) { sum += i; });
  return sum;
}

TEST(ThreadPool, EveryIndexRunsOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    for (const std::int64_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      pool.parallel_for(count, [&](int worker, std::int64_t i) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, threads);
        ++seen[static_cast<std::size_t>(i)];
      });
      for (const auto& times : seen) EXPECT_EQ(times, 1);
    }
  }
}

TEST(ThreadPool, RunReachesEveryWorker) {
  ThreadPool pool(4);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> mask{0};
    pool.run([&](int worker) { mask |= 1 << worker; });
    ASSERT_EQ(mask, 15);
  }
}

TEST(ThreadPool, ExceptionsReachTheCallerAndThePoolLivesOn) {
  ThreadPool pool(3);
  EXPECT_THROW(pool.run([](int worker) {
    if (worker == 2) throw std::runtime_error("from a worker");
  }),
               std::runtime_error);
  EXPECT_EQ(sum_with(pool, 100), 4950);
}

TEST(ThreadPool, ConcurrentCallersQueue) {
  ThreadPool pool(2);
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) EXPECT_EQ(sum_with(pool, 100), 4950);
    });
  }
  for (auto& caller : callers) caller.join();
}

TEST(ThreadPool, WorksInAForkedChild) {
  ThreadPool pool(3);
  ASSERT_EQ(sum_with(pool, 100), 4950);
  const pid_t child = fork();
  if (child == 0) _exit(sum_with(pool, 100) == 4950 ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(sum_with(pool, 100), 4950);
}

}  // namespace
}  // namespace biowarp
