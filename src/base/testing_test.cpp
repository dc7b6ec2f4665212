#include "base/testing.h"

#include <gtest/gtest.h>

#include <limits>

namespace biowarp::testing {
namespace {

const std::vector<double> kExpected{1.0, -2.0, 3.0};
const std::vector<float> kNaive{1.0f, -2.0f, 3.001f};

TEST(Comparator, AcceptsWhatIsAsGoodAsNaive) {
  EXPECT_EQ(objection(kExpected, std::vector<float>{1.0f, -2.0f, 3.0f}, kNaive, 0), "");
  EXPECT_EQ(objection(kExpected, std::vector<float>{1.0f, -2.0f, 3.0015f}, kNaive, 0), "");
}

TEST(Comparator, RejectsLargerErrors) {
  EXPECT_NE(objection(kExpected, std::vector<float>{1.0f, -2.0f, 3.003f}, kNaive, 0), "");
  EXPECT_NE(objection(kExpected, std::vector<float>{1.0f, 2.0f, 3.0f}, kNaive, 0), "") << "sign flip";
  EXPECT_NE(objection(kExpected, std::vector<float>{1.0f, 3.0f, -2.0f}, kNaive, 0), "") << "swapped";
}

TEST(Comparator, RejectsNaNInfinityAndMissingValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_NE(objection(kExpected, std::vector<float>{nan, -2.0f, 3.0f}, kNaive, 0), "");
  EXPECT_NE(objection(kExpected, std::vector<float>{1.0f, -2.0f, nan}, kNaive, 0), "");
  EXPECT_NE(objection(kExpected, std::vector<float>{inf, -2.0f, 3.0f}, kNaive, 1e30), "");
  EXPECT_NE(objection(kExpected, std::vector<float>{1.0f, -2.0f}, kNaive, 1), "");
}

TEST(Guarded, NoticesAWriteBehindTheEnd) {
  Guarded<float> buffer(3);
  EXPECT_TRUE(std::isnan(buffer.span()[2]));
  EXPECT_TRUE(buffer.intact());
  buffer.data()[3] = 0;
  EXPECT_FALSE(buffer.intact());
}

}  // namespace
}  // namespace biowarp::testing
