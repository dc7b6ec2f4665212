#include "ops/activation/gelu.h"

#include <gtest/gtest.h>

#include <numbers>

#include "ops/common/testing.h"

namespace biowarp {
namespace {

using testing::Guarded;
using testing::Product;

constexpr std::int64_t kRows = 4;
const std::vector<std::int64_t> kWidths{1, 3, 7, 8, 15, 16, 17, 33, 320, 1280};

template <class T>
T gelu_formula(T x, bool tanh_form) {
  constexpr T kHalf = static_cast<T>(0.5), kOne = 1, kCubic = static_cast<T>(0.044715);
  const T root = std::sqrt(2 / std::numbers::pi_v<T>);
  return kHalf * x *
         (kOne + (tanh_form ? std::tanh(root * (x + kCubic * x * x * x)) : std::erf(x / std::numbers::sqrt2_v<T>)));
}

// f32 results of plain values through the op.
std::vector<float> gelu_of(const std::vector<float>& x, bool tanh_form) {
  testing::Lane lane;
  const auto width = static_cast<std::int64_t>(x.size());
  Guarded<float> y(width);
  gelu(*lane, {{x.data(), width, false, {}}, 1, width, tanh_form, y.data(), DType::f32});
  EXPECT_TRUE(y.intact());
  return {y.span().begin(), y.span().end()};
}

// The form of GELU, and whether the product is int8.
class Gelu : public ::testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  bool tanh_form() const { return std::get<0>(GetParam()); }
  bool is_int8() const { return std::get<1>(GetParam()); }
  GeluArgs args(const Product& x, std::int64_t width, void* y, DType dtype = DType::f32) const {
    return {x.accumulator(), kRows, width, tanh_form(), y, dtype};
  }
  testing::Lane lane_;
};

TEST_P(Gelu, AgreesWithDoubleArithmetic) {
  for (const std::int64_t width : kWidths) {
    const Product x(kRows, width, is_int8());
    std::vector<double> expected;
    std::vector<float> naive;
    double largest = 0;
    for (std::int64_t i = 0; i < kRows * width; ++i) {
      expected.push_back(gelu_formula(x.value<double>(i / width, i % width), tanh_form()));
      naive.push_back(gelu_formula(x.value<float>(i / width, i % width), tanh_form()));
      largest = std::max(largest, std::abs(x.value<double>(i / width, i % width)));
    }
    Guarded<float> y(kRows * width);
    gelu(*lane_, args(x, width, y.data()));
    EXPECT_TRUE(y.intact());
    const double erf_error = tanh_form() ? 0 : 4e-7;  // promised by the header
    EXPECT_EQ(testing::objection(expected, y.span(), naive, largest * (1.2e-7 + erf_error / 2)), "")
        << "width " << width;
  }
}

TEST_P(Gelu, Bf16IsTheF32ResultRounded) {
  for (const std::int64_t width : kWidths) {
    const Product x(kRows, width, is_int8());
    Guarded<float> y(kRows * width);
    Guarded<std::uint16_t> half(kRows * width);
    gelu(*lane_, args(x, width, y.data()));
    gelu(*lane_, args(x, width, half.data(), DType::bf16));
    EXPECT_TRUE(half.intact());
    EXPECT_TRUE(testing::is_rounding_of(half.span(), y.span())) << "width " << width;
  }
}

TEST_P(Gelu, InPlaceGivesTheSameBits) {
  for (const std::int64_t width : kWidths) {
    Product x(kRows, width, is_int8(), 1, 0);
    Guarded<float> y(kRows * width);
    gelu(*lane_, args(x, width, y.data()));
    gelu(*lane_, args(x, width, x.data()));
    EXPECT_EQ(std::memcmp(x.data(), y.data(), y.span().size_bytes()), 0) << "width " << width;
  }
}

TEST_P(Gelu, NaNStaysVisible) {
  for (std::int64_t column = 0; column < 37; ++column) {
    Product x(kRows, 37, is_int8());
    x.poison(1, column);
    Guarded<float> y(kRows * 37);
    Guarded<std::uint16_t> half(kRows * 37);
    gelu(*lane_, args(x, 37, y.data()));
    gelu(*lane_, args(x, 37, half.data(), DType::bf16));
    for (std::int64_t i = 0; i < kRows * 37; ++i) {
      const bool bad = i / 37 == 1 && (is_int8() || i % 37 == column);
      ASSERT_EQ(std::isnan(y.span()[i]), bad) << "column " << column;
      ASSERT_EQ(std::isnan(bf16_to_f32(half.span()[i])), bad) << "column " << column;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Gelu, ::testing::Combine(::testing::Bool(), ::testing::Bool()), [](const auto& info) {
  return std::string(std::get<0>(info.param) ? "tanh" : "exact") + (std::get<1>(info.param) ? "_int8" : "_f32");
});

// A grid over everything between both saturated ends, with no value repeated in a vector's tail.
TEST(GeluRange, HoldsItsErrorEverywhere) {
  for (const bool tanh_form : {false, true}) {
    std::vector<float> x;
    for (int i = -9000; i <= 9000; ++i) x.push_back(static_cast<float>(i) * 1e-3f);
    const std::vector<float> y = gelu_of(x, tanh_form);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = std::abs(y[i] - gelu_reference(x[i], tanh_form));
      ASSERT_TRUE(error <= std::abs(x[i]) * 4e-7) << "x " << x[i] << " error " << error;
      ASSERT_NEAR(gelu_reference(x[i], tanh_form), gelu_formula<double>(x[i], tanh_form), 1e-12);
    }
  }
}

TEST(GeluRange, SaturatesFarFromZero) {
  for (const bool tanh_form : {false, true}) {
    for (const float far : {20.0f, 1e3f, 1e15f, 1e30f}) {
      const std::vector<float> y = gelu_of(std::vector<float>(16, far), tanh_form);
      const std::vector<float> below = gelu_of(std::vector<float>(16, -far), tanh_form);
      EXPECT_NEAR(y[0] / far, 1.0f, 4e-7f);
      EXPECT_NEAR(below[0] / far, 0.0f, 4e-7f);
    }
    EXPECT_EQ(gelu_of(std::vector<float>(17, 0.0f), tanh_form), std::vector<float>(17, 0.0f));
  }
}

TEST(GeluRange, TheTwoFormsDiffer) {
  const float exact = gelu_of({2.0f}, false)[0], tanh_form = gelu_of({2.0f}, true)[0];
  EXPECT_NEAR(exact, 1.9544997f, 1e-6f);
  EXPECT_NEAR(tanh_form, 1.9545977f, 1e-6f);
}

}  // namespace
}  // namespace biowarp
