#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace biowarp {
namespace {

TEST(Half, EveryF16ValueSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = f16_to_f32(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value))));
    } else {
      EXPECT_EQ(f32_to_f16(value), bits);
    }
  }
}

TEST(Half, EveryBf16ValueSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bf16_to_f32(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(value))));
    } else {
      EXPECT_EQ(f32_to_bf16(value), bits);
    }
  }
}

// Nearest even, checked against the two neighbours of every midpoint.
TEST(Half, F16RoundsMidpointsToEven) {
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const double low = f16_to_f32(bits), high = f16_to_f32(static_cast<std::uint16_t>(bits + 1));
    const auto middle = static_cast<float>((low + high) / 2);
    EXPECT_EQ(f32_to_f16(middle), (bits & 1) ? bits + 1 : bits);
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), bits);
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, std::numeric_limits<float>::infinity())), bits + 1);
  }
}

TEST(Half, LargeValuesBecomeInfinity) {
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65519.99f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
}

}  // namespace
}  // namespace biowarp
