#include "ops/attention/contacts.h"

#include <gtest/gtest.h>

#include "ops/common/testing.h"

namespace biowarp {
namespace {

using testing::Guarded;

constexpr std::int64_t kLayers = 2;

struct Problem {
  DType dtype;
  std::int64_t residues, heads, width;
  std::vector<std::vector<float>> qkv;  // per layer [L+2, H*3*D], bf16 values when dtype is bf16
  std::vector<std::vector<std::uint16_t>> qkv_bf16;
  std::vector<float> weight;
  float bias = -0.5f;

  Problem(DType dtype, std::int64_t residues, std::int64_t heads, std::int64_t width)
      : dtype(dtype), residues(residues), heads(heads), width(width) {
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      qkv.push_back(testing::random_floats((residues + 2) * heads * 3 * width, 5 + layer, 1.2f));
      qkv_bf16.emplace_back();
      for (float& value : qkv.back()) {
        qkv_bf16.back().push_back(f32_to_bf16(value));
        if (dtype == DType::bf16) value = bf16_to_f32(qkv_bf16.back().back());
      }
    }
    weight = testing::random_floats(kLayers * heads, 9, 5.0f);
  }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(width)); }

  // Probabilities of one head, residue rows and columns only: [L, L].
  template <class T>
  std::vector<T> probabilities(std::int64_t layer, std::int64_t head) const {
    const std::int64_t tokens = residues + 2, stride = heads * 3 * width;
    const float* base = qkv[static_cast<std::size_t>(layer)].data() + head * 3 * width;
    std::vector<T> all;
    for (std::int64_t i = 1; i <= residues; ++i) {
      std::vector<T> p;
      T largest = -INFINITY, total = 0;
      for (std::int64_t j = 0; j < tokens; ++j) {
        T dot = 0;
        for (std::int64_t d = 0; d < width; ++d)
          dot += static_cast<T>(base[i * stride + d]) * base[j * stride + width + d];
        p.push_back(dot * static_cast<T>(scale()));
        largest = std::max(largest, p.back());
      }
      for (T& value : p) total += value = std::exp(value - largest);
      for (std::int64_t j = 1; j <= residues; ++j) all.push_back(p[static_cast<std::size_t>(j)] / total);
    }
    return all;
  }

  // The header's formula, one whole map per head.
  template <class T>
  std::vector<T> contacts() const {
    const std::int64_t L = residues;
    std::vector<T> sum(static_cast<std::size_t>(L * L), static_cast<T>(bias));
    for (std::int64_t map = 0; map < kLayers * heads; ++map) {
      const auto a = probabilities<T>(map / heads, map % heads);
      std::vector<T> s, r(static_cast<std::size_t>(L), T{0});
      T total = 0;
      for (std::int64_t i = 0; i < L * L; ++i) {
        s.push_back(a[i] + a[i % L * L + i / L]);
        r[i / L] += s.back();
        total += s.back();
      }
      for (std::int64_t i = 0; i < L * L; ++i)
        sum[i] += static_cast<T>(weight[map]) * (s[i] - r[i / L] * r[i % L] / total);
    }
    for (T& value : sum) value = 1 / (1 + std::exp(-value));
    return sum;
  }
};

std::vector<float> run(const Problem& problem, int threads = 1) {
  ThreadPool pool(threads);
  Context context(pool);
  ArenaLayout layout;
  const Slot scratch = layout.book("contacts", contact_scratch_bytes(problem.width, problem.residues));
  const Slot guard = layout.book("guard", 64);
  setenv("BIOWARP_POISON", "1", 1);
  context.plan_scratch(layout);
  unsetenv("BIOWARP_POISON");

  const std::int64_t L = problem.residues, H = problem.heads;
  std::vector<float> map(static_cast<std::size_t>(L * L), 0.0f);
  Guarded<float> sums(kLayers * H * L), bands(kContactBands * H * L), out(L * L);
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    const auto& f32 = problem.qkv[static_cast<std::size_t>(layer)];
    const auto& half = problem.qkv_bf16[static_cast<std::size_t>(layer)];
    const void* qkv = problem.dtype == DType::bf16 ? static_cast<const void*>(half.data()) : f32.data();
    add_contact_scores(context, scratch,
                       {qkv, problem.dtype, L, H, problem.width, problem.scale(), problem.weight.data() + layer * H,
                        map.data(), sums.data() + layer * H * L, bands.data()});
  }
  finish_contacts(context, {map.data(), sums.data(), problem.weight.data(), kLayers * H, L, problem.bias, out.data()});
  EXPECT_TRUE(sums.intact() && bands.intact() && out.intact());
  for (int worker = 0; worker < threads; ++worker) {
    const auto* bytes = context.lane(worker).scratch<unsigned char>(guard);
    EXPECT_TRUE(std::all_of(bytes, bytes + 64, [](unsigned char byte) { return byte == 0xff; })) << "scratch overrun";
  }
  return {out.span().begin(), out.span().end()};
}

class Contacts : public ::testing::TestWithParam<DType> {};

TEST_P(Contacts, AgreeWithDoubleArithmetic) {
  for (const std::int64_t residues : {1, 2, 3, 13, 14, 15, 16, 17, 33, 61, 62, 63, 130}) {
    for (const std::int64_t width : {2, 16, 24, 128}) {
      const Problem problem(GetParam(), residues, 3, width);
      EXPECT_EQ(testing::objection(problem.contacts<double>(), run(problem), problem.contacts<float>(), 1.2e-6), "")
          << "residues " << residues << " D " << width;
    }
  }
}

TEST_P(Contacts, BitsDoNotDependOnThreads) {
  for (const std::int64_t residues : {1, 5, 16, 47, 200}) {
    const Problem problem(GetParam(), residues, 2, 24);
    const auto one = run(problem, 1);
    EXPECT_TRUE(testing::same_bits(one, run(problem, 2))) << residues;
    EXPECT_TRUE(testing::same_bits(one, run(problem, 3))) << residues;
  }
}

TEST_P(Contacts, AreSymmetric) {
  const Problem problem(GetParam(), 50, 3, 16);
  const auto map = run(problem);
  for (std::int64_t i = 0; i < 50 * 50; ++i) ASSERT_NEAR(map[i], map[i % 50 * 50 + i / 50], 1e-6f);
}

TEST_P(Contacts, NaNStaysVisible) {
  Problem problem(GetParam(), 20, 1, 16);
  const std::size_t key_of_token_3 = 3 * 48 + 16;
  problem.qkv[1][key_of_token_3] = NAN;
  problem.qkv_bf16[1][key_of_token_3] = f32_to_bf16(NAN);
  for (const float value : run(problem)) ASSERT_TRUE(std::isnan(value));
}

INSTANTIATE_TEST_SUITE_P(All, Contacts, ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// A head that gives residues nothing has no product to correct by.
TEST(ContactsFinish, AHeadWithoutProbabilityAddsNothing) {
  constexpr std::int64_t L = 3;
  ThreadPool pool(2);
  Context context(pool);
  const std::vector<float> map{0, 1, 2, 3, 4, 5, 6, 7, 8}, sums(2 * L, 0.0f), weight{1.0f, -2.0f};
  Guarded<float> out(L * L);
  finish_contacts(context, {map.data(), sums.data(), weight.data(), 2, L, 0.5f, out.data()});
  EXPECT_TRUE(out.intact());
  for (std::int64_t i = 0; i < L * L; ++i) {
    const double expected = 1.0 / (1.0 + std::exp(-(map[i] + map[i % L * L + i / L] + 0.5)));
    EXPECT_NEAR(out.span()[i], expected, 1e-6);
  }
}

}  // namespace
}  // namespace biowarp
