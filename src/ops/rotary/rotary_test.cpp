#include "ops/rotary/rotary.h"

#include <gtest/gtest.h>

#include "ops/common/testing.h"

namespace biowarp {
namespace {

using testing::Guarded;
using testing::Product;

const std::vector<std::int64_t> kWidths{2, 6, 14, 16, 18, 24, 30, 32, 34, 40, 64, 128};
const std::vector<std::int32_t> kPositions{0, 1, 2, 77, 1023, 0, 4095};
constexpr std::int64_t kHeads = 3, kLongest = 4096;
const auto kRows = static_cast<std::int64_t>(kPositions.size());

double default_frequency(std::int64_t j, std::int64_t width) {
  return std::pow(10000.0, -2.0 * static_cast<double>(j) / static_cast<double>(width));
}

// The header's formula in T arithmetic, cosine and sine from f64 angles.
template <class T>
std::vector<T> rotated(const Product& qkv, std::int64_t width) {
  const std::int64_t half = width / 2;
  std::vector<T> out;
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t n = 0; n < kHeads * 3 * width; ++n) {
      const std::int64_t part = n / width % 3, d = n % width, j = d % half;
      const double angle = kPositions[static_cast<std::size_t>(r)] * default_frequency(j, width);
      const T c = static_cast<T>(std::cos(angle)), s = static_cast<T>(std::sin(angle)), v = qkv.value<T>(r, n);
      if (part == 2) {
        out.push_back(v);
      } else {
        out.push_back(d < half ? v * c - qkv.value<T>(r, n + half) * s : v * c + qkv.value<T>(r, n - half) * s);
      }
    }
  }
  return out;
}

// The parameter: whether the product is int8.
class Rotary : public ::testing::TestWithParam<bool> {
 protected:
  static RotaryTable table(std::int64_t width) {
    RotaryTable table(width, {});
    table.reserve(kLongest);
    return table;
  }
  static RotaryArgs args(const Product& qkv, const RotaryTable& table, void* out, DType dtype = DType::f32) {
    return {qkv.accumulator(), kRows, kHeads, table.head_width(), kPositions.data(), &table, out, dtype};
  }
  testing::Lane lane_;
};

TEST_P(Rotary, AgreesWithDoubleArithmetic) {
  for (const std::int64_t width : kWidths) {
    const Product qkv(kRows, kHeads * 3 * width, GetParam());
    const RotaryTable rows = table(width);
    Guarded<float> out(kRows * kHeads * 3 * width);
    rotary_qkv(*lane_, args(qkv, rows, out.data()));
    EXPECT_TRUE(out.intact());
    const auto expected = rotated<double>(qkv, width);
    EXPECT_EQ(
        testing::objection(expected, out.span(), rotated<float>(qkv, width), testing::largest_of(expected) * 1.2e-7),
        "")
        << "width " << width;
  }
}

TEST_P(Rotary, Bf16IsTheF32ResultRounded) {
  for (const std::int64_t width : kWidths) {
    const Product qkv(kRows, kHeads * 3 * width, GetParam());
    const RotaryTable rows = table(width);
    Guarded<float> out(kRows * kHeads * 3 * width);
    Guarded<std::uint16_t> half(kRows * kHeads * 3 * width);
    rotary_qkv(*lane_, args(qkv, rows, out.data()));
    rotary_qkv(*lane_, args(qkv, rows, half.data(), DType::bf16));
    EXPECT_TRUE(half.intact());
    EXPECT_TRUE(testing::is_rounding_of(half.span(), out.span())) << "width " << width;
  }
}

TEST_P(Rotary, InPlaceGivesTheSameBits) {
  for (const std::int64_t width : kWidths) {
    Product qkv(kRows, kHeads * 3 * width, GetParam(), 1, 0);
    const RotaryTable rows = table(width);
    Guarded<float> out(kRows * kHeads * 3 * width);
    rotary_qkv(*lane_, args(qkv, rows, out.data()));
    rotary_qkv(*lane_, args(qkv, rows, qkv.data()));
    EXPECT_EQ(std::memcmp(qkv.data(), out.data(), out.span().size_bytes()), 0) << "width " << width;
  }
}

TEST_P(Rotary, NaNStaysVisibleInItsPairAlone) {
  constexpr std::int64_t kWidth = 24, kColumns = kHeads * 3 * kWidth;
  const RotaryTable rows = table(kWidth);
  for (std::int64_t column = 0; column < kColumns; ++column) {
    Product qkv(kRows, kColumns, GetParam());
    qkv.poison(3, column);
    Guarded<float> out(kRows * kColumns);
    rotary_qkv(*lane_, args(qkv, rows, out.data()));
    const bool value = column / kWidth % 3 == 2;
    for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
      const std::int64_t n = i % kColumns;
      const bool pair = n / kWidth == column / kWidth && n % (kWidth / 2) == column % (kWidth / 2);
      ASSERT_EQ(std::isnan(out.span()[i]), i / kColumns == 3 && (GetParam() || (value ? n == column : pair)))
          << "column " << column << " at " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Rotary, ::testing::Bool(), [](const auto& info) { return info.param ? "int8" : "f32"; });

TEST(RotaryTable, RowsAreCosinesAndSinesRoundedOnce) {
  for (const std::int64_t width : kWidths) {
    RotaryTable table(width, {});
    table.reserve(10);
    table.reserve(3);
    table.reserve(kLongest);
    for (const std::int64_t position : {0, 1, 9, 10, 4095}) {
      for (std::int64_t j = 0; j < width / 2; ++j) {
        const double angle = static_cast<double>(position) * default_frequency(j, width);
        ASSERT_EQ(table.row(position)[j], static_cast<float>(std::cos(angle)));
        ASSERT_EQ(table.row(position)[width / 2 + j], static_cast<float>(std::sin(angle)));
      }
    }
  }
}

TEST(RotaryTable, FollowsGivenFrequencies) {
  const std::vector<float> frequencies{0.5f, 0.25f, 0.1f};
  RotaryTable table(6, frequencies);
  table.reserve(5);
  for (std::size_t j = 0; j < 3; ++j) {
    EXPECT_EQ(table.row(4)[j], static_cast<float>(std::cos(4.0 * frequencies[j])));
    EXPECT_EQ(table.row(4)[3 + j], static_cast<float>(std::sin(4.0 * frequencies[j])));
  }
}

}  // namespace
}  // namespace biowarp
