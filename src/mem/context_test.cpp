#include "mem/context.h"

#include <gtest/gtest.h>

namespace biowarp {
namespace {

// Two sessions over one context: the one planned first still has its room, apart from the other lanes'.
TEST(Context, ALaterPlanLeavesAnEarlierOneItsRoom) {
  constexpr std::int64_t kLarge = 1 << 20;
  ThreadPool pool(3);
  Context context(pool);
  ArenaLayout large, small;
  const Slot first = large.book("large", kLarge), second = small.book("small", 64);
  context.plan_scratch(large);
  context.plan_scratch(small);
  for (int worker = 0; worker + 1 < 3; ++worker) {
    const auto* here = context.lane(worker).scratch<std::byte>(first);
    const auto* next = context.lane(worker + 1).scratch<std::byte>(first);
    EXPECT_GE(next - here, kLarge);
    EXPECT_EQ(context.lane(worker).scratch<std::byte>(second), here) << "plans share the room";
  }
}

TEST(Context, ALargerPlanMakesMoreRoom) {
  constexpr std::int64_t kLarge = 1 << 20;
  ThreadPool pool(2);
  Context context(pool);
  ArenaLayout small, large;
  small.book("small", 64);
  const Slot slot = large.book("large", kLarge);
  context.plan_scratch(small);
  context.plan_scratch(large);
  EXPECT_GE(context.lane(1).scratch<std::byte>(slot) - context.lane(0).scratch<std::byte>(slot), kLarge);
}

}  // namespace
}  // namespace biowarp
