#include "ops/quantize/quantize.h"

#include <gtest/gtest.h>

#include "ops/common/quantize_channel.h"
#include "ops/common/testing.h"

namespace biowarp {
namespace {

using testing::Guarded;

const std::vector<std::int64_t> kWidths{1, 3, 7, 8, 15, 16, 17, 33, 320, 1280};

struct Codes {
  std::vector<std::uint8_t> codes;
  std::vector<float> scale, zero;
  bool operator==(const Codes&) const = default;
};

Codes quantize(const void* x, DType dtype, std::int64_t rows, std::int64_t width) {
  testing::Lane lane;
  Guarded<std::uint8_t> codes(rows * width);
  Guarded<float> scale(rows), zero(rows);
  quantize_rows(*lane, {x, dtype, rows, width, codes.data(), scale.data(), zero.data()});
  EXPECT_TRUE(codes.intact() && scale.intact() && zero.intact());
  const auto copy = [](auto span) { return std::vector(span.begin(), span.end()); };
  return {copy(codes.span()), copy(scale.span()), copy(zero.span())};
}
Codes quantize(const std::vector<float>& x, std::int64_t width) {
  return quantize(x.data(), DType::f32, static_cast<std::int64_t>(x.size()) / width, width);
}

// Rows of both signs, of one sign, of one value, of zeros, and of very large and very small values.
std::vector<float> rows_of(std::int64_t width) {
  std::vector<float> x = testing::random_floats(7 * width, 4);
  const auto each = [&](std::int64_t row, auto f) {
    for (std::int64_t c = 0; c < width; ++c) x[row * width + c] = f(x[row * width + c]);
  };
  each(1, [](float v) { return std::abs(v) + 3.0f; });
  each(2, [](float v) { return -std::abs(v); });
  each(3, [](float) { return -2.5f; });
  each(4, [](float) { return 0.0f; });
  each(5, [](float v) { return v * 1e30f; });
  each(6, [](float v) { return v * 1e-20f; });
  return x;
}

void expect_formula(const std::vector<float>& x, std::int64_t width, const Codes& q) {
  for (std::size_t r = 0; r < q.scale.size(); ++r) {
    const float* row = x.data() + static_cast<std::int64_t>(r) * width;
    const double low = std::min(0.0f, *std::min_element(row, row + width));
    const double high = std::max(0.0f, *std::max_element(row, row + width));
    const double scale = q.scale[r], zero = q.zero[r];
    if (high > low) {
      EXPECT_NEAR(scale / ((high - low) / 255.0), 1.0, 3e-7) << "row " << r;
    }
    EXPECT_TRUE(zero >= 0 && zero <= 255 && zero == std::nearbyint(zero)) << "row " << r << " zero " << zero;
    EXPECT_NEAR(zero, -low / scale, 0.5001) << "row " << r;
    for (std::int64_t c = 0; c < width; ++c) {
      const double code = q.codes[r * static_cast<std::size_t>(width) + static_cast<std::size_t>(c)];
      ASSERT_TRUE(std::abs(code - zero - row[c] / scale) <= 0.5001) << "width " << width << " row " << r << " at " << c;
    }
  }
}

TEST(QuantizeRows, FollowTheFormula) {
  for (const std::int64_t width : kWidths) {
    const std::vector<float> x = rows_of(width);
    const Codes q = quantize(x, width);
    expect_formula(x, width, q);
    for (std::int64_t c = 0; c < width; ++c) EXPECT_EQ(q.codes[4 * width + c], q.zero[4]) << "zeros stay zeros";
  }
}

TEST(QuantizeRows, TakeBf16) {
  for (const std::int64_t width : kWidths) {
    std::vector<std::uint16_t> half;
    std::vector<float> x = rows_of(width);
    for (float& value : x) {
      half.push_back(f32_to_bf16(value));
      value = bf16_to_f32(half.back());
    }
    const Codes q = quantize(half.data(), DType::bf16, static_cast<std::int64_t>(x.size()) / width, width);
    expect_formula(x, width, q);
    EXPECT_EQ(q, quantize(x, width));
  }
}

TEST(QuantizeRows, ARowDependsOnItselfAlone) {
  for (const std::int64_t width : kWidths) {
    const std::vector<float> x = rows_of(width);
    const Codes all = quantize(x, width);
    for (std::int64_t r = 0; r < 7; ++r) {
      const Codes one = quantize({x.begin() + r * width, x.begin() + (r + 1) * width}, width);
      EXPECT_EQ(one.scale[0], all.scale[r]);
      EXPECT_EQ(one.zero[0], all.zero[r]);
      EXPECT_TRUE(std::equal(one.codes.begin(), one.codes.end(), all.codes.begin() + r * width));
    }
  }
}

TEST(QuantizeRows, NaNAndInfinityGiveANaNScale) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    for (std::int64_t column = 0; column < 37; ++column) {
      std::vector<float> x = testing::random_floats(3 * 37, 6);
      x[static_cast<std::size_t>(37 + column)] = bad;
      const Codes q = quantize(x, 37);
      EXPECT_TRUE(std::isnan(q.scale[1])) << bad << " in column " << column;
      EXPECT_TRUE(std::isfinite(q.scale[0]) && std::isfinite(q.scale[2]));
      std::vector<std::uint16_t> half;
      for (const float value : x) half.push_back(f32_to_bf16(value));
      EXPECT_TRUE(std::isnan(quantize(half.data(), DType::bf16, 3, 37).scale[1])) << bad << " in column " << column;
    }
  }
}

TEST(QuantizeChannel, FollowsTheFormula) {
  for (const std::int64_t width : kWidths) {
    const auto w = testing::random_floats(width, 8, 0.05f);
    Guarded<std::int8_t> codes(width);
    float sum = NAN;
    const double scale = quantize_channel(w.data(), width, codes.data(), &sum);
    EXPECT_TRUE(codes.intact());
    double largest = 0, total = 0;
    for (const float value : w) largest = std::max(largest, std::abs(static_cast<double>(value)));
    EXPECT_NEAR(scale * 127.0 / largest, 1.0, 3e-7);
    for (std::int64_t k = 0; k < width; ++k) {
      total += codes.span()[k];
      ASSERT_TRUE(std::abs(codes.span()[k] - w[k] / scale) <= 0.5001);
    }
    EXPECT_EQ(sum, total);
  }
}

TEST(QuantizeChannel, ZerosStayZeros) {
  const std::vector<float> w(17, 0.0f);
  std::vector<std::int8_t> codes(17, 1);
  float sum = NAN;
  EXPECT_GT(quantize_channel(w.data(), 17, codes.data(), &sum), 0.0f);
  EXPECT_EQ(codes, std::vector<std::int8_t>(17, 0));
  EXPECT_EQ(sum, 0.0f);
}

// A broken weight must not turn into a working one.
TEST(QuantizeChannel, NaNAndInfinityStayVisible) {
  for (const float bad : {NAN, INFINITY}) {
    auto w = testing::random_floats(17, 8);
    w[5] = bad;
    std::vector<std::int8_t> codes(17);
    float sum = 0;
    EXPECT_FALSE(std::isfinite(quantize_channel(w.data(), 17, codes.data(), &sum))) << bad;
  }
}

}  // namespace
}  // namespace biowarp
