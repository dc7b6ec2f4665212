#include "io/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "base/half.h"

namespace biowarp {
namespace {

// All 65536 bit patterns, at an odd address and with a tail that no vector covers.
class EveryHalf : public testing::TestWithParam<DType> {};

TEST_P(EveryHalf, DecodesLikeTheScalarReference) {
  constexpr std::int64_t kCount = 65536 + 3;
  std::vector<std::byte> stored(2 * kCount + 1);
  for (std::int64_t i = 0; i < kCount; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(stored.data() + 1 + 2 * i, &bits, 2);
  }
  std::vector<float> values(kCount);
  convert_to_f32(GetParam(), stored.data() + 1, kCount, values.data());
  for (std::int64_t i = 0; i < kCount; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float expected = GetParam() == DType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
    if (expected != expected) {
      ASSERT_TRUE(values[static_cast<std::size_t>(i)] != values[static_cast<std::size_t>(i)]) << i;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(values[static_cast<std::size_t>(i)]),
                std::bit_cast<std::uint32_t>(expected))
          << i;
    }
  }
}

TEST_P(EveryHalf, EncodesBackToTheSameBits) {
  constexpr std::int64_t kCount = 65536;
  std::vector<float> values(kCount);
  for (std::int64_t i = 0; i < kCount; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    values[static_cast<std::size_t>(i)] = GetParam() == DType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
  }
  std::vector<std::byte> stored(2 * kCount);
  convert_from_f32(GetParam(), values.data(), kCount, stored.data());
  for (std::int64_t i = 0; i < kCount; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, stored.data() + 2 * i, 2);
    const float value = values[static_cast<std::size_t>(i)];
    if (value == value) {
      ASSERT_EQ(bits, static_cast<std::uint16_t>(i));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EveryHalf, testing::Values(DType::f16, DType::bf16));

TEST(Convert, RoundsToNearestEven) {
  // Half-way between neighbours of 1: to the even one; just above: up.
  const std::vector<float> values{
      1.0f + 0x1p-11f, 1.0f + 3 * 0x1p-11f, 1.0f + 0x1p-11f + 0x1p-20f, 65520.0f, 1e-8f, -0.0f, 1.0f, 2.0f, 3.0f, 4.0f};
  std::vector<std::byte> stored(2 * values.size());
  convert_from_f32(DType::f16, values.data(), static_cast<std::int64_t>(values.size()), stored.data());
  std::vector<std::uint16_t> bits(values.size());
  std::memcpy(bits.data(), stored.data(), stored.size());
  EXPECT_EQ(bits[0], 0x3c00);
  EXPECT_EQ(bits[1], 0x3c02);
  EXPECT_EQ(bits[2], 0x3c01);
  EXPECT_EQ(bits[3], 0x7c00);
  EXPECT_EQ(bits[4], 0x0000);
  EXPECT_EQ(bits[5], 0x8000);
}

}  // namespace
}  // namespace biowarp
