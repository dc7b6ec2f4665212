#include "ops/layernorm/layernorm.h"

#include <gtest/gtest.h>

#include "ops/common/testing.h"

namespace biowarp {
namespace {

using testing::Guarded;

constexpr std::int64_t kRows = 5;
constexpr float kEps = 1e-5f;
const std::vector<std::int64_t> kWidths{1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 320, 480, 1280};

struct Problem {
  std::int64_t width;
  std::vector<float> x, weight, bias;

  // Rows far from zero, so that a variance of the form E[x^2] - E[x]^2 would show.
  explicit Problem(std::int64_t width)
      : width(width),
        x(testing::random_floats(kRows * width, 1)),
        weight(testing::random_floats(width, 2)),
        bias(testing::random_floats(width, 3)) {
    for (std::int64_t i = 0; i < kRows * width; ++i) x[static_cast<std::size_t>(i)] += 50.0f * (i / width);
  }

  LayerNormArgs args(void* y, DType dtype = DType::f32) const {
    return {x.data(), kRows, width, weight.data(), bias.data(), kEps, y, dtype};
  }

  // One rounding of the results, and one of the mean of the row that is farthest from zero in its own deviations.
  double rounding(std::span<const double> expected) const {
    double distance = 0;
    for (std::int64_t r = 0; r < kRows; ++r) {
      double mean = 0, squares = 0;
      for (std::int64_t c = 0; c < width; ++c) mean += x[r * width + c] / static_cast<double>(width);
      for (std::int64_t c = 0; c < width; ++c) squares += std::pow(x[r * width + c] - mean, 2);
      distance = std::max(distance, std::abs(mean) / std::sqrt(squares / static_cast<double>(width) + kEps));
    }
    const auto scale = std::abs(
        *std::max_element(weight.begin(), weight.end(), [](float a, float b) { return std::abs(a) < std::abs(b); }));
    return 1.2e-7 * (testing::largest_of(expected) + distance * scale);
  }

  template <class T>
  std::vector<T> normalized() const {
    std::vector<T> y;
    for (std::int64_t r = 0; r < kRows; ++r) {
      const float* row = x.data() + r * width;
      T mean = 0, variance = 0;
      for (std::int64_t c = 0; c < width; ++c) mean += row[c];
      mean /= static_cast<T>(width);
      for (std::int64_t c = 0; c < width; ++c) variance += (row[c] - mean) * (row[c] - mean);
      const T deviation = std::sqrt(variance / static_cast<T>(width) + static_cast<T>(kEps));
      for (std::int64_t c = 0; c < width; ++c) y.push_back((row[c] - mean) / deviation * weight[c] + bias[c]);
    }
    return y;
  }
};

TEST(LayerNorm, AgreesWithDoubleArithmetic) {
  testing::Lane lane;
  for (const std::int64_t width : kWidths) {
    const Problem problem(width);
    const auto expected = problem.normalized<double>();
    const auto naive = problem.normalized<float>();
    const double floor = problem.rounding(expected);
    Guarded<float> y(kRows * width), reference(kRows * width);
    layernorm(*lane, problem.args(y.data()));
    layernorm_reference(problem.args(reference.data()));
    EXPECT_TRUE(y.intact() && reference.intact());
    EXPECT_EQ(testing::objection(expected, y.span(), naive, floor), "") << "width " << width;
    EXPECT_EQ(testing::objection(expected, reference.span(), naive, floor), "") << "reference, width " << width;
  }
}

TEST(LayerNorm, Bf16IsTheF32ResultRounded) {
  testing::Lane lane;
  for (const std::int64_t width : kWidths) {
    const Problem problem(width);
    Guarded<float> y(kRows * width);
    Guarded<std::uint16_t> half(kRows * width);
    layernorm(*lane, problem.args(y.data()));
    layernorm(*lane, problem.args(half.data(), DType::bf16));
    EXPECT_TRUE(half.intact());
    EXPECT_TRUE(testing::is_rounding_of(half.span(), y.span())) << "width " << width;
  }
}

TEST(LayerNorm, InPlaceAndARowAloneGiveTheSameBits) {
  testing::Lane lane;
  for (const std::int64_t width : kWidths) {
    Problem problem(width);
    Guarded<float> y(kRows * width), alone(width);
    layernorm(*lane, problem.args(y.data()));
    LayerNormArgs args = problem.args(alone.data());
    args.x += 3 * width;
    args.rows = 1;
    layernorm(*lane, args);
    EXPECT_TRUE(testing::same_bits(
        alone.span(), y.span().subspan(static_cast<std::size_t>(3 * width), static_cast<std::size_t>(width))));
    layernorm(*lane, problem.args(problem.x.data()));
    EXPECT_TRUE(testing::same_bits(problem.x, y.span())) << "width " << width;
  }
}

TEST(LayerNorm, AConstantRowGivesTheBias) {
  testing::Lane lane;
  for (const std::int64_t width : kWidths) {
    Problem problem(width);
    std::fill(problem.x.begin(), problem.x.end(), 0.5f);
    Guarded<float> y(kRows * width);
    layernorm(*lane, problem.args(y.data()));
    for (std::int64_t i = 0; i < kRows * width; ++i) ASSERT_EQ(y.span()[i], problem.bias[i % width]);
  }
}

TEST(LayerNorm, NaNAndInfinityStayVisibleInTheirRowAlone) {
  testing::Lane lane;
  for (const float bad : {NAN, INFINITY}) {
    for (std::int64_t column = 0; column < 37; ++column) {
      Problem problem(37);
      problem.x[static_cast<std::size_t>(2 * 37 + column)] = bad;
      Guarded<float> y(kRows * 37);
      Guarded<std::uint16_t> half(kRows * 37);
      layernorm(*lane, problem.args(y.data()));
      layernorm(*lane, problem.args(half.data(), DType::bf16));
      for (std::int64_t i = 0; i < kRows * 37; ++i) {
        ASSERT_EQ(std::isnan(y.span()[i]), i / 37 == 2) << "column " << column;
        ASSERT_EQ(std::isnan(bf16_to_f32(half.span()[i])), i / 37 == 2) << "column " << column;
      }
    }
  }
}

}  // namespace
}  // namespace biowarp
