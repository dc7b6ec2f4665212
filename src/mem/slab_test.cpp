#include "mem/slab.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace biowarp {
namespace {

TEST(Slab, BlocksAreAlignedApartAndOutliveTheirNeighbours) {
  std::vector<SlabBlock> blocks;
  for (const std::int64_t bytes : {1, 64, 65, 100000, 40 << 20, 3}) {
    blocks.emplace_back(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().as<char>()) % 64, 0u);
    std::memset(blocks.back().as<char>(), static_cast<int>(blocks.size()), static_cast<std::size_t>(bytes));
  }
  blocks.erase(blocks.begin());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const SlabBlock& block = blocks[i];
    EXPECT_EQ(block.as<char>()[0], static_cast<char>(i + 2));
    EXPECT_EQ(block.as<char>()[block.bytes() - 1], static_cast<char>(i + 2));
  }
}

TEST(Slab, ManyThreadsAllocate) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      std::vector<SlabBlock> blocks;
      for (int i = 0; i < 100; ++i) {
        blocks.emplace_back(1000);
        std::memset(blocks.back().as<char>(), t, 1000);
      }
      for (const SlabBlock& block : blocks) EXPECT_EQ(block.as<char>()[999], t);
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace biowarp
