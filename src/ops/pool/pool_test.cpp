#include "ops/pool/pool.h"

#include <gtest/gtest.h>

#include "ops/common/testing.h"

namespace biowarp {
namespace {

using testing::Guarded;

const std::vector<std::int64_t> kCuLens{0, 2, 5, 45, 47, 348};  // two sequences without residues
constexpr std::int64_t kSequences = 5, kGap = 5;

Guarded<float> pooled(const std::vector<float>& hidden, std::int64_t width, Pooling pooling, int threads = 1) {
  ThreadPool pool(threads);
  Context context(pool);
  Guarded<float> out(kSequences * (width + kGap));
  pool_rows(context, {hidden.data(), kCuLens, width, pooling, out.data(), width + kGap});
  EXPECT_TRUE(out.intact());
  return out;
}

template <class T>
T expected_value(const std::vector<float>& hidden, std::int64_t width, Pooling pooling, std::int64_t n,
                 std::int64_t c) {
  const std::int64_t first = kCuLens[n], end = kCuLens[n + 1];
  const auto at = [&](std::int64_t t) { return static_cast<T>(hidden[t * width + c]); };
  if (pooling == Pooling::cls) return at(first);
  if (pooling == Pooling::eos) return at(end - 1);
  if (end - first == 2) return 0;
  T sum = 0, largest = at(first + 1);
  for (std::int64_t t = first + 1; t < end - 1; ++t) {
    sum += at(t);
    largest = std::max(largest, at(t));
  }
  return pooling == Pooling::max ? largest : sum / static_cast<T>(end - first - 2);
}

class Pool : public ::testing::TestWithParam<Pooling> {};

TEST_P(Pool, AgreesWithDoubleArithmetic) {
  for (const std::int64_t width : {1, 3, 15, 16, 17, 33, 320, 1280}) {
    const auto hidden = testing::random_floats(kCuLens.back() * width, 3);
    Guarded<float> out = pooled(hidden, width, GetParam());
    for (std::int64_t n = 0; n < kSequences; ++n) {
      for (std::int64_t c = 0; c < width; ++c) {
        const auto expected = expected_value<double>(hidden, width, GetParam(), n, c);
        ASSERT_EQ(out.span()[n * (width + kGap) + c], static_cast<float>(expected)) << "width " << width;
      }
      for (std::int64_t c = width; c < width + kGap; ++c) ASSERT_TRUE(std::isnan(out.span()[n * (width + kGap) + c]));
    }
  }
}

TEST_P(Pool, BitsDoNotDependOnThreads) {
  const auto hidden = testing::random_floats(kCuLens.back() * 33, 3);
  EXPECT_TRUE(testing::same_bits(pooled(hidden, 33, GetParam(), 1).span(), pooled(hidden, 33, GetParam(), 3).span()));
}

// At any row of the pooled ones, and in no other column or sequence.
TEST_P(Pool, NaNStaysVisible) {
  constexpr std::int64_t kWidth = 3;
  for (std::int64_t t = kCuLens[2]; t < kCuLens[3]; ++t) {
    auto hidden = testing::random_floats(kCuLens.back() * kWidth, 3);
    hidden[static_cast<std::size_t>(t * kWidth + 1)] = NAN;
    Guarded<float> out = pooled(hidden, kWidth, GetParam());
    const bool begin = t == kCuLens[2], end = t == kCuLens[3] - 1;
    const bool taken = GetParam() == Pooling::cls ? begin : GetParam() == Pooling::eos ? end : !begin && !end;
    for (std::int64_t n = 0; n < kSequences; ++n) {
      for (std::int64_t c = 0; c < kWidth; ++c)
        ASSERT_EQ(std::isnan(out.span()[n * (kWidth + kGap) + c]), taken && n == 2 && c == 1) << "token " << t;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Pool, ::testing::Values(Pooling::mean, Pooling::max, Pooling::cls, Pooling::eos),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace biowarp
