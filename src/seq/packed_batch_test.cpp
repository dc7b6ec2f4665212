#include "seq/packed_batch.h"

#include <gtest/gtest.h>

#include "seq/alphabet.h"

namespace biowarp {
namespace {

TEST(Alphabet, LettersFindTheirTokens) {
  EXPECT_EQ(esm::token_of('L'), 4);
  EXPECT_EQ(esm::token_of('C'), 23);
  EXPECT_EQ(esm::token_of('X'), esm::kX);
  EXPECT_EQ(esm::token_of('O'), 28);
  EXPECT_EQ(esm::token_of('-'), 30);
  EXPECT_EQ(esm::token_of('J'), -1);
  EXPECT_EQ(esm::token_of('<'), -1);
}

TEST(PackedBatch, SequencesLieBackToBack) {
  PackedBatch batch;
  const std::vector<std::uint8_t> first{4, 5, 6}, second{};
  batch.add(first, 7);
  batch.add(second, 8);
  EXPECT_EQ(batch.tokens, (std::vector<std::int32_t>{0, 4, 5, 6, 2, 0, 2}));
  EXPECT_EQ(batch.positions, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 0, 1}));
  EXPECT_EQ(batch.cu_lens, (std::vector<std::int64_t>{0, 5, 7}));
  EXPECT_EQ(batch.source, (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(batch.longest, 5);
  EXPECT_FLOAT_EQ(batch.dropout_scale[0], 0.88f);
}

// S38: with m masks among n tokens the factor is 0.88 / (1 - m / n), begin and end tokens counted.
TEST(PackedBatch, S38MasksRaiseTheFactor) {
  PackedBatch batch;
  const std::vector<std::uint8_t> residues{4, 32, 6, 32, 5, 5, 5, 5};
  batch.add(residues, 0);
  EXPECT_FLOAT_EQ(batch.dropout_scale[0], 0.88f / (1.0f - 2.0f / 10.0f));
}

}  // namespace
}  // namespace biowarp
