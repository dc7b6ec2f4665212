// Every implementation over one case list: accuracy, the same bits in every panel, guards behind the output.
#include "ops/gemm/gemm.h"

#include <gtest/gtest.h>

#include "base/fail.h"
#include "base/half.h"
#include "base/testing.h"
#include "ops/common/quantize_channel.h"

namespace biowarp {
namespace {

struct Case {
  std::int64_t in, out;
};

// odd sizes, strip and block borders, then shapes of the 8M, 35M and 150M models
const std::vector<Case> kCases{{1, 1},    {3, 7},     {16, 33},    {31, 65},    {64, 64},   {513, 17},
                               {127, 96}, {320, 960}, {320, 1280}, {1280, 320}, {480, 480}, {640, 33}};
const std::vector<std::int64_t> kPanels{32, 64, 96, 128, 160, 256};

// Forces one row of the list while it lives.
class Forced {
 public:
  explicit Forced(const std::string& row) { setenv("BIOWARP_FORCE", ("gemm=" + row).c_str(), 1); }
  ~Forced() { unsetenv("BIOWARP_FORCE"); }
};

struct Problem {
  GemmDesc desc;
  std::vector<float> x, w, bias;      // [256, K], [N, K], [N]
  std::vector<std::uint16_t> x_bf16;  // bf16 operand
  std::vector<std::uint8_t> x_codes;  // int8 operand

  Problem(const Case& sizes, Precision precision) : desc{sizes.in, sizes.out, precision} {
    x = testing::random_floats(kPanelRows * desc.in, 1);
    w = testing::random_floats(desc.out * desc.in, 2, 0.1f);
    bias = testing::random_floats(desc.out, 3);
    for (float& value : x) {
      x_bf16.push_back(f32_to_bf16(value));
      x_codes.push_back(static_cast<std::uint8_t>(std::clamp(value * 40 + 128, 0.0f, 255.0f)));
      if (precision == Precision::bf16) value = bf16_to_f32(x_bf16.back());
    }
    if (precision == Precision::bf16) {
      for (float& value : w) value = bf16_to_f32(f32_to_bf16(value));
    }
  }

  std::unique_ptr<const GemmWeights> pack() const {
    return pack_gemm(
        desc,
        [this](std::int64_t first, std::int64_t count, float* out) {
          std::copy_n(w.data() + first * desc.in, count * desc.in, out);
        },
        bias.data());
  }

  const void* operand(std::int64_t row) const {
    switch (desc.precision) {
      case Precision::f32: return x.data() + row * desc.in;
      case Precision::bf16: return x_bf16.data() + row * desc.in;
      case Precision::int8: return x_codes.data() + row * desc.in;
    }
    return nullptr;
  }

  template <class Sum>
  std::vector<Sum> product(std::int64_t rows) const {
    std::vector<Sum> y;
    for (std::int64_t m = 0; m < rows; ++m) {
      for (std::int64_t n = 0; n < desc.out; ++n) {
        Sum sum = 0;
        for (std::int64_t k = 0; k < desc.in; ++k) sum += static_cast<Sum>(x[m * desc.in + k]) * w[n * desc.in + k];
        y.push_back(sum + bias[n]);
      }
    }
    return y;
  }
};

void run(const GemmWeights& weights, const void* x, std::int64_t rows, void* y) {
  ThreadPool pool(1);
  Context context(pool);
  gemm(context.lane(0), weights, x, rows, y);
}

class GemmRows : public ::testing::TestWithParam<std::tuple<std::string, Precision>> {
 protected:
  std::string row() const { return std::get<0>(GetParam()); }
  Precision precision() const { return std::get<1>(GetParam()); }

  // Every case that the row takes; skips the test, with the row's words, when there is none.
  template <class Body>
  void for_each_case(Body&& body) {
    std::string refused;
    int ran = 0;
    for (const Case& sizes : kCases) {
      const Problem problem(sizes, precision());
      refused = gemm_objection(row(), problem.desc);
      if (!refused.empty()) continue;
      ++ran;
      const Forced forced(row());
      body(problem, *problem.pack());
    }
    if (ran == 0) GTEST_SKIP() << refused;
  }
};

TEST_P(GemmRows, AgreeWithDoubleArithmetic) {
  for_each_case([&](const Problem& problem, const GemmWeights& weights) {
    const std::int64_t in = problem.desc.in, out = problem.desc.out;
    ASSERT_EQ(weights.implementation(), row());
    for (const std::int64_t rows : kPanels) {
      testing::Guarded<float> y(rows * out);
      run(weights, problem.operand(0), rows, y.data());
      EXPECT_TRUE(y.intact());
      if (precision() == Precision::int8) continue;  // compared exactly below
      const auto expected = problem.product<double>(rows);
      const double floor = testing::largest_of(expected) * 1.2e-7;
      EXPECT_EQ(testing::objection(expected, y.span(), problem.product<float>(rows), floor), "")
          << row() << " K " << in << " N " << out << " M " << rows;
    }
  });
}

TEST_P(GemmRows, Int8SumsAreExact) {
  if (precision() != Precision::int8) GTEST_SKIP() << "int8 only";
  for_each_case([&](const Problem& problem, const GemmWeights& weights) {
    const std::int64_t in = problem.desc.in, out = problem.desc.out;
    testing::Guarded<std::int32_t> y(kPanelRows * out);
    run(weights, problem.operand(0), kPanelRows, y.data());
    std::vector<std::int8_t> codes(static_cast<std::size_t>(in));
    for (std::int64_t n = 0; n < out; ++n) {
      float column_sum = 0;
      const float scale = quantize_channel(problem.w.data() + n * in, in, codes.data(), &column_sum);
      EXPECT_EQ(weights.column_scale()[n], scale);
      EXPECT_EQ(weights.column_sum()[n], column_sum);
      for (std::int64_t m = 0; m < kPanelRows; m += 13) {
        std::int32_t sum = 0;
        for (std::int64_t k = 0; k < in; ++k) sum += problem.x_codes[m * in + k] * codes[k];
        ASSERT_EQ(y.span()[m * out + n], sum) << "row " << m << " output " << n;
      }
    }
  });
}

// The promise behind "same bits whatever the batch": a row's result does not depend on its panel.
TEST_P(GemmRows, ARowHasTheSameBitsInEveryPanel) {
  for_each_case([&](const Problem& problem, const GemmWeights& weights) {
    const std::int64_t in = problem.desc.in, out = problem.desc.out;
    testing::Guarded<std::uint32_t> whole(kPanelRows * out);
    run(weights, problem.operand(0), kPanelRows, whole.data());
    for (const std::int64_t rows : kPanels) {
      for (std::int64_t first = 0; first + rows <= kPanelRows; first += 32) {
        testing::Guarded<std::uint32_t> part(rows * out);
        run(weights, problem.operand(first), rows, part.data());
        EXPECT_TRUE(std::equal(part.span().begin(), part.span().end(), whole.data() + first * out))
            << row() << " K " << in << " N " << out << " M " << rows << " from " << first;
      }
    }
  });
}

TEST(Gemm, ForcingAnUnknownRowSaysSo) {
  const Forced forced("nonesuch");
  EXPECT_THROW(gemm_implementation({4, 4, Precision::f32}), Error);
}

INSTANTIATE_TEST_SUITE_P(All, GemmRows,
                         ::testing::Combine(::testing::ValuesIn(gemm_rows()),
                                            ::testing::Values(Precision::f32, Precision::bf16, Precision::int8)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::string(name_of(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace biowarp
