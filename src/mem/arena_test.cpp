#include "mem/arena.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace biowarp {
namespace {

TEST(Arena, SlotsAreAlignedAndApart) {
  ArenaLayout layout;
  const Slot a = layout.book("a", 1), b = layout.book("b", 100), c = layout.book("c", 0), d = layout.book("d", 64);
  EXPECT_EQ(a.offset, 0);
  EXPECT_EQ(b.offset, 64);
  EXPECT_EQ(c.offset, 192);
  EXPECT_EQ(d.offset, 192);
  EXPECT_EQ(layout.bytes(), 256);
  EXPECT_NE(layout.table().find("sum"), std::string::npos);
}

TEST(Arena, CopiesDoNotOverlap) {
  ArenaLayout layout;
  const Slot slot = layout.book("x", 5000);
  const HostArena arena(layout, 3);
  for (int copy = 0; copy < 3; ++copy) std::fill_n(arena.at<char>(slot, copy), 5000, static_cast<char>('a' + copy));
  for (int copy = 0; copy < 3; ++copy) EXPECT_EQ(arena.at<char>(slot, copy)[4999], 'a' + copy);
}

TEST(Arena, PoisonIsNaN) {
  setenv("BIOWARP_POISON", "1", 1);
  ArenaLayout layout;
  const Slot slot = layout.book("x", 4);
  const HostArena arena(layout);
  EXPECT_TRUE(std::isnan(*arena.at<float>(slot)));
  unsetenv("BIOWARP_POISON");
}

}  // namespace
}  // namespace biowarp
