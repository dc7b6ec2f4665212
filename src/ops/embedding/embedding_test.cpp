#include "ops/embedding/embedding.h"

#include <gtest/gtest.h>

#include "ops/common/testing.h"

namespace biowarp {
namespace {

using testing::Guarded;

constexpr std::int32_t kMask = 32;
constexpr std::int64_t kVocabulary = 33, kPadded = 32;

struct Problem {
  std::int64_t width;
  bool token_dropout;
  std::vector<float> table;
  std::vector<std::int32_t> tokens{0, 5, kMask, 2, 0, 2, 0, 7, 7, kMask, kMask, 32 - 1, 2};
  std::vector<std::int64_t> cu_lens{0, 4, 6, 13};
  std::vector<float> scale{0.88f, 0.9f, 1.25f};

  Problem(std::int64_t width, bool token_dropout)
      : width(width), token_dropout(token_dropout), table(testing::random_floats(kVocabulary * width, 1)) {}

  EmbeddingArgs args(float* x, std::int64_t padded = kPadded) const {
    return {table.data(), width, tokens, cu_lens, scale, token_dropout, kMask, padded, x};
  }
  std::size_t sequence_of(std::size_t token) const { return token < 4 ? 0 : token < 6 ? 1 : 2; }
  float expected(std::int64_t t, std::int64_t c) const {
    if (t >= static_cast<std::int64_t>(tokens.size())) return 0.0f;
    const std::int32_t token = tokens[static_cast<std::size_t>(t)];
    const float value = table[static_cast<std::size_t>(token * width + c)];
    if (!token_dropout) return value;
    return token == kMask ? 0.0f : value * scale[sequence_of(static_cast<std::size_t>(t))];
  }
};

TEST(Embedding, ScalesRowsAndZeroesMasks) {
  for (const std::int64_t width : {1, 3, 15, 16, 17, 33, 320, 1280}) {
    for (const bool token_dropout : {true, false}) {
      const Problem problem(width, token_dropout);
      for (const int threads : {1, 3}) {
        ThreadPool pool(threads);
        Context context(pool);
        Guarded<float> x(kPadded * width);
        embed_tokens(context, problem.args(x.data()));
        EXPECT_TRUE(x.intact());
        for (std::int64_t i = 0; i < kPadded * width; ++i)
          ASSERT_EQ(x.span()[i], problem.expected(i / width, i % width)) << "width " << width << " at " << i;
      }
    }
  }
}

TEST(Embedding, NeedsNoPaddingRows) {
  const Problem problem(17, true);
  ThreadPool pool(1);
  Context context(pool);
  const auto rows = static_cast<std::int64_t>(problem.tokens.size());
  Guarded<float> x(rows * 17);
  embed_tokens(context, problem.args(x.data(), rows));
  EXPECT_TRUE(x.intact());
  EXPECT_EQ(x.span()[static_cast<std::size_t>(rows * 17 - 1)], problem.expected(rows - 1, 16));
}

}  // namespace
}  // namespace biowarp
