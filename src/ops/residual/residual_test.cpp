#include "ops/residual/residual.h"

#include <gtest/gtest.h>

#include "ops/common/testing.h"

namespace biowarp {
namespace {

using testing::Guarded;
using testing::Product;

constexpr std::int64_t kRows = 4;
const std::vector<std::int64_t> kWidths{1, 3, 7, 8, 15, 16, 17, 33, 320, 1280};

// The parameter: whether the product is int8.
class Residual : public ::testing::TestWithParam<bool> {
 protected:
  testing::Lane lane_;
};

TEST_P(Residual, AddsAndStores) {
  for (const std::int64_t width : kWidths) {
    const Product y(kRows, width, GetParam());
    const auto start = testing::random_floats(kRows * width, 9);
    Guarded<float> sum(kRows * width), stored(kRows * width);
    std::copy(start.begin(), start.end(), sum.data());
    add_residual(*lane_, {y.accumulator(), kRows, width, sum.data()});
    store_result(*lane_, {y.accumulator(), kRows, width, stored.data()});
    EXPECT_TRUE(sum.intact() && stored.intact());

    std::vector<double> expected, expected_sum;
    std::vector<float> naive, naive_sum;
    for (std::int64_t i = 0; i < kRows * width; ++i) {
      expected.push_back(y.value<double>(i / width, i % width));
      naive.push_back(y.value<float>(i / width, i % width));
      expected_sum.push_back(start[i] + expected.back());
      naive_sum.push_back(start[i] + naive.back());
    }
    EXPECT_EQ(testing::objection(expected, stored.span(), naive, testing::largest_of(expected) * 1.2e-7), "")
        << "width " << width;
    EXPECT_EQ(testing::objection(expected_sum, sum.span(), naive_sum, testing::largest_of(expected_sum) * 1.2e-7), "")
        << "width " << width;
    if (!GetParam()) {
      EXPECT_TRUE(testing::same_bits(stored.span(), naive) && testing::same_bits(sum.span(), naive_sum));
    }
  }
}

TEST_P(Residual, NaNStaysVisible) {
  for (std::int64_t column = 0; column < 37; ++column) {
    Product y(kRows, 37, GetParam());
    y.poison(2, column);
    std::vector<float> sum(kRows * 37, 1.0f);
    Guarded<float> stored(kRows * 37);
    add_residual(*lane_, {y.accumulator(), kRows, 37, sum.data()});
    store_result(*lane_, {y.accumulator(), kRows, 37, stored.data()});
    for (std::int64_t i = 0; i < kRows * 37; ++i) {
      const bool bad = i / 37 == 2 && (GetParam() || i % 37 == column);
      ASSERT_EQ(std::isnan(sum[static_cast<std::size_t>(i)]), bad);
      ASSERT_EQ(std::isnan(stored.span()[i]), bad);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Residual, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "int8" : "f32"; });

}  // namespace
}  // namespace biowarp
