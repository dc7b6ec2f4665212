#include "tasks/windows.h"

#include <gtest/gtest.h>

#include <cmath>

namespace biowarp {
namespace {

// Lengths at which esm-variants' windows change their number, and odd overlaps.
TEST(Windows, S08WeightsSumToOneAndEveryPositionIsCovered) {
  for (const std::int64_t length : {1, 2, 7, 64, 1022}) {
    for (const std::int64_t overlap : {std::int64_t{0}, length / 2, length - 1 - length / 8}) {
      for (const std::int64_t chain : {1, 3, 64, 65, 1021, 1022, 1023, 1532, 1533, 1534, 3001}) {
        const Windows windows(chain, length, overlap);
        std::vector<double> sum(static_cast<std::size_t>(chain), 0.0);
        for (std::int64_t k = 0; k < windows.count(); ++k) {
          const std::vector<float> weights = windows.weights(k);
          for (std::int64_t i = 0; i < windows.length(); ++i) {
            ASSERT_GT(weights[static_cast<std::size_t>(i)], 0.0f);
            sum[static_cast<std::size_t>(windows.start(k) + i)] += weights[static_cast<std::size_t>(i)];
          }
        }
        for (const double total : sum) ASSERT_NEAR(total, 1.0, 1e-6) << chain << " " << length << " " << overlap;
      }
    }
  }
}

TEST(Windows, S08FewestWindowsThatOverlapEnough) {
  const auto count = [](std::int64_t chain) { return Windows(chain, 1022, 511).count(); };
  EXPECT_EQ(count(1022), 1);
  EXPECT_EQ(count(1023), 2);
  EXPECT_EQ(count(1533), 2);
  EXPECT_EQ(count(1534), 3);
  const Windows windows(5000, 1022, 511);
  for (std::int64_t k = 1; k < windows.count(); ++k) {
    EXPECT_LE(windows.start(k), windows.start(k - 1) + 511);
    EXPECT_GT(windows.start(k), windows.start(k - 1));
  }
  EXPECT_EQ(windows.start(windows.count() - 1) + windows.length(), 5000);
}

TEST(Windows, OneWindowWeighsExactlyOne) {
  for (const float weight : Windows(1022, 1022, 511).weights(0)) EXPECT_EQ(weight, 1.0f);
  const std::vector<float> first = Windows(1533, 1022, 511).weights(0);
  for (std::size_t i = 0; i < 511; ++i) EXPECT_EQ(first[i], 1.0f) << i;  // covered by the first window alone
}

// The logistic curve over half the overlap, as esm-variants has it (a = 255, s = 16).
TEST(Windows, WeightsFallLogisticallyTowardsANeighbour) {
  const std::vector<float> first = Windows(1533, 1022, 511).weights(0);
  const auto logistic = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  const double own = logistic((10 - 127.5) / 16), other = 1.0;  // 11 residues from its end; middle of the other
  EXPECT_NEAR(first[1011], own / (own + other), 1e-6);
  const double other_ramp = logistic((20 - 127.5) / 16);  // residue 20 of the second window
  EXPECT_NEAR(first[531], 1.0 / (1.0 + other_ramp), 1e-6);
}

}  // namespace
}  // namespace biowarp
