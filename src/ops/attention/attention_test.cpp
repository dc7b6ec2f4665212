// Every implementation over one case list: accuracy against f64, bits independent of batch mates and workers, guards.
#include "ops/attention/attention.h"

#include <gtest/gtest.h>

#include "base/half.h"
#include "base/testing.h"

namespace biowarp {
namespace {

class Forced {
 public:
  explicit Forced(const std::string& row) { setenv("BIOWARP_FORCE", ("attention=" + row).c_str(), 1); }
  ~Forced() { unsetenv("BIOWARP_FORCE"); }
};

const std::vector<std::int64_t> kWidths{2, 8, 16, 24, 32, 40, 64, 128};
const std::vector<std::int64_t> kLengths{1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 129, 255, 256, 257, 300};

struct Problem {
  AttentionDesc desc;
  std::vector<std::int64_t> cu_lens{0};
  std::vector<float> qkv;  // [T, H*3*D], bf16 values when dtype is bf16
  std::vector<std::uint16_t> qkv_bf16;
  float scale;

  Problem(DType dtype, std::int64_t heads, std::int64_t width, const std::vector<std::int64_t>& lengths,
          std::uint32_t seed = 5)
      : desc{dtype, heads, width}, scale(1.0f / std::sqrt(static_cast<float>(width))) {
    for (const std::int64_t length : lengths) append(length, seed + static_cast<std::uint32_t>(length));
  }

  // A sequence's numbers depend on its seed alone, so that it can be put into another batch.
  void append(std::int64_t length, std::uint32_t seed) {
    for (const float value : testing::random_floats(length * desc.heads * 3 * desc.head_width, seed, 1.5f)) {
      qkv_bf16.push_back(f32_to_bf16(value));
      qkv.push_back(desc.dtype == DType::bf16 ? bf16_to_f32(qkv_bf16.back()) : value);
    }
    cu_lens.push_back(cu_lens.back() + length);
  }

  std::int64_t tokens() const { return cu_lens.back(); }
  std::int64_t row() const { return desc.heads * 3 * desc.head_width; }

  // Softmax in Sum arithmetic; `rounds` keeps probabilities and results in bf16, as a naive bf16 version would.
  template <class Sum>
  std::vector<Sum> attend(bool rounds) const {
    const auto round = [&](Sum v) {
      return rounds ? static_cast<Sum>(bf16_to_f32(f32_to_bf16(static_cast<float>(v)))) : v;
    };
    const std::int64_t D = desc.head_width;
    std::vector<Sum> out(static_cast<std::size_t>(tokens() * desc.heads * D));
    for (std::size_t n = 0; n + 1 < cu_lens.size(); ++n) {
      for (std::int64_t h = 0; h < desc.heads; ++h) {
        for (std::int64_t q = cu_lens[n]; q < cu_lens[n + 1]; ++q) {
          std::vector<Sum> p;
          Sum largest = -INFINITY, total = 0;
          for (std::int64_t k = cu_lens[n]; k < cu_lens[n + 1]; ++k) {
            Sum dot = 0;
            for (std::int64_t d = 0; d < D; ++d)
              dot += static_cast<Sum>(qkv[q * row() + h * 3 * D + d]) * qkv[k * row() + h * 3 * D + D + d];
            p.push_back(dot * scale);
            largest = std::max(largest, p.back());
          }
          for (Sum& value : p) total += value = std::exp(value - largest);
          for (std::int64_t d = 0; d < D; ++d) {
            Sum sum = 0;
            for (std::size_t k = 0; k < p.size(); ++k)
              sum += round(p[k] / total) *
                     qkv[(cu_lens[n] + static_cast<std::int64_t>(k)) * row() + h * 3 * D + 2 * D + d];
            out[(q * desc.heads + h) * D + d] = round(sum);
          }
        }
      }
    }
    return out;
  }
};

std::vector<float> run(const Problem& problem, int threads) {
  ThreadPool pool(threads);
  Context context(pool);
  const Attention attention(problem.desc);
  std::int64_t longest = 0;
  for (std::size_t n = 0; n + 1 < problem.cu_lens.size(); ++n)
    longest = std::max(longest, problem.cu_lens[n + 1] - problem.cu_lens[n]);
  ArenaLayout layout;
  const Slot scratch = layout.book("attention", attention.scratch_bytes(longest)), guard = layout.book("guard", 64);
  setenv("BIOWARP_POISON", "1", 1);
  context.plan_scratch(layout);
  unsetenv("BIOWARP_POISON");
  const std::int64_t elements = problem.tokens() * problem.desc.heads * problem.desc.head_width;
  const bool bf16 = problem.desc.dtype == DType::bf16;
  testing::Guarded<float> f32(elements);
  testing::Guarded<std::uint16_t> half(elements);
  const void* qkv = bf16 ? static_cast<const void*>(problem.qkv_bf16.data()) : problem.qkv.data();
  attention.run(context, scratch,
                {qkv, problem.cu_lens, problem.scale, bf16 ? static_cast<void*>(half.data()) : f32.data()});
  EXPECT_TRUE(f32.intact() && half.intact());
  for (int worker = 0; worker < threads; ++worker) {
    const auto* bytes = context.lane(worker).scratch<unsigned char>(guard);
    EXPECT_TRUE(std::all_of(bytes, bytes + 64, [](unsigned char byte) { return byte == 0xff; })) << "scratch overrun";
  }
  std::vector<float> out;
  for (std::int64_t i = 0; i < elements; ++i) out.push_back(bf16 ? bf16_to_f32(half.span()[i]) : f32.span()[i]);
  return out;
}

class AttentionRows : public ::testing::TestWithParam<std::tuple<std::string, DType>> {
 protected:
  std::string row() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
};

TEST_P(AttentionRows, AgreeWithDoubleArithmetic) {
  for (const std::int64_t width : kWidths) {
    const Problem problem(dtype(), 2, width, kLengths);
    if (const std::string why = attention_objection(row(), problem.desc); !why.empty()) GTEST_SKIP() << why;
    const Forced forced(row());
    const bool bf16 = dtype() == DType::bf16;
    const auto expected = problem.attend<double>(false);
    const double floor = testing::largest_of(expected) * (bf16 ? 0.004 : 2.4e-7);
    EXPECT_EQ(testing::objection(expected, run(problem, 1), problem.attend<float>(bf16), floor), "")
        << row() << " D " << width;
  }
}

TEST_P(AttentionRows, BitsDoNotDependOnBatchMatesOrWorkers) {
  for (const std::int64_t width : {16, 24, 64}) {
    const Problem batch(dtype(), 3, width, {40, 301, 7, 900});
    if (const std::string why = attention_objection(row(), batch.desc); !why.empty()) GTEST_SKIP() << why;
    const Forced forced(row());
    const std::vector<float> together = run(batch, 1);
    EXPECT_EQ(together, run(batch, 3));
    const Problem alone(dtype(), 3, width, {301});
    const std::vector<float> single = run(alone, 2);
    EXPECT_TRUE(std::equal(single.begin(), single.end(), together.begin() + 40 * 3 * width));
  }
}

TEST_P(AttentionRows, NaNStaysVisible) {
  Problem problem(dtype(), 1, 16, {20, 5});
  if (const std::string why = attention_objection(row(), problem.desc); !why.empty()) GTEST_SKIP() << why;
  const Forced forced(row());
  const std::size_t key_of_token_3 = 3 * 48 + 16;
  problem.qkv[key_of_token_3] = NAN;
  problem.qkv_bf16[key_of_token_3] = f32_to_bf16(NAN);
  const std::vector<float> out = run(problem, 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(std::isnan(out[i]), i < 20 * 16) << "every query of the first sequence sees the key, none of the second";
  }
}

// Scores far from zero: the running maximum must keep the exponentials in range.
TEST_P(AttentionRows, LargeScoresDoNotOverflow) {
  Problem problem(dtype(), 1, 32, {600});
  if (const std::string why = attention_objection(row(), problem.desc); !why.empty()) GTEST_SKIP() << why;
  const Forced forced(row());
  problem.scale = 40.0f;
  const auto expected = problem.attend<double>(false);
  const bool bf16 = dtype() == DType::bf16;
  EXPECT_EQ(testing::objection(expected, run(problem, 1), problem.attend<float>(bf16),
                               testing::largest_of(expected) * (bf16 ? 0.008 : 1e-4)),
            "");
}

INSTANTIATE_TEST_SUITE_P(All, AttentionRows,
                         ::testing::Combine(::testing::ValuesIn(attention_rows()),
                                            ::testing::Values(DType::f32, DType::bf16)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::string(name_of(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace biowarp
