#include "seq/protein.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "seq/alphabet.h"

namespace biowarp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Tokens back as text: '#' stands for <mask>.
std::string text_of(const Residues& residues) {
  std::string text;
  for (const std::uint8_t token : residues.tokens) text += token == esm::kMask ? '#' : esm::kTokens[token][0];
  return text;
}

std::string read(std::string_view letters, const LetterPolicy& policy = {}) {
  const Residues residues = read_residues(letters, policy);
  EXPECT_EQ(residues.error, "");
  return text_of(residues);
}

std::string error_of(std::string_view letters, const LetterPolicy& policy = {}) {
  const Residues residues = read_residues(letters, policy);
  EXPECT_TRUE(residues.tokens.empty() && !residues.changes.any());
  return residues.error;
}

constexpr LetterPolicy kStripGaps{.strip_gaps = true}, kSoftMask{.soft_mask_to_x = true};

TEST(Letters, EveryTokenOfTheVocabulary) {
  const Residues residues = read_residues("LAGVSERTIDPKQNFYMHWCXBUZO.-");
  ASSERT_EQ(residues.tokens.size(), 27u);
  for (std::size_t i = 0; i < 27; ++i) EXPECT_EQ(residues.tokens[i], i + 4);
  EXPECT_FALSE(residues.changes.any());
}

TEST(Letters, S11JIsReadAsXAndCounted) {
  const Residues residues = read_residues("MKJLj");
  EXPECT_EQ(text_of(residues), "MKXLX");
  EXPECT_EQ(residues.changes.unknown, 2);
  EXPECT_EQ(residues.changes.upper_cased, 1);
}

TEST(Letters, S12SelenocysteineHasItsOwnToken) {
  const Residues residues = read_residues("MKUL");
  EXPECT_THAT(residues.tokens, ElementsAre(20, 15, 26, 4));
  EXPECT_FALSE(residues.changes.any());
}

TEST(Letters, S13AmbiguityCodesAndGaps) {
  EXPECT_EQ(read("MBZXOU"), "MBZXOU");
  EXPECT_EQ(read("MK-L"), "MK-L");
  EXPECT_EQ(read("MK.L"), "MK.L");
  const Residues stripped = read_residues("M-K..L", kStripGaps);
  EXPECT_EQ(text_of(stripped), "MKL");
  EXPECT_EQ(stripped.changes.gaps, 3);
}

TEST(Letters, S14FinalStopIsDroppedInnerStopIsX) {
  const Residues final_stop = read_residues("MKL*");
  EXPECT_EQ(text_of(final_stop), "MKL");
  EXPECT_EQ(final_stop.changes.final_stops, 1);
  EXPECT_EQ(final_stop.changes.inner_stops, 0);
  const Residues both = read_residues("M*K**L* *\n");
  EXPECT_EQ(text_of(both), "MXKXXL");
  EXPECT_EQ(both.changes.inner_stops, 3);
  EXPECT_EQ(both.changes.final_stops, 2);
  EXPECT_EQ(both.changes.blanks, 2);
  EXPECT_EQ(read("***"), "");
  EXPECT_EQ(read("MKL*-", kStripGaps), "MKL");
  EXPECT_EQ(read("MKL*-"), "MKLX-");
}

TEST(Letters, S14StopBeforeAPlainBlockIsInner) {
  const Residues residues = read_residues(std::string(31, 'A') + "*" + std::string(64, 'L'));
  EXPECT_EQ(residues.changes.inner_stops, 1);
  EXPECT_EQ(residues.tokens.size(), 96u);
  EXPECT_EQ(residues.tokens[31], esm::kX);
}

TEST(Letters, S15LowerCase) {
  const Residues upper = read_residues("mktl");
  EXPECT_EQ(text_of(upper), "MKTL");
  EXPECT_EQ(upper.changes.upper_cased, 4);
  const Residues masked = read_residues("MKtlJja", kSoftMask);
  EXPECT_EQ(text_of(masked), "MKXXXXX");
  EXPECT_EQ(masked.changes.soft_masked, 4);
  EXPECT_EQ(masked.changes.upper_cased, 0);
  EXPECT_EQ(masked.changes.unknown, 1);
}

TEST(Letters, S17MaskIsOneResidueOtherSpecialsAreRefused) {
  EXPECT_EQ(read("MK<mask>L"), "MK#L");
  EXPECT_EQ(read("<mask><mask>"), "##");
  EXPECT_THAT(error_of("MK<pad>L"), HasSubstr("special token <pad> at column 3"));
  EXPECT_THAT(error_of("MK<null_1>"), HasSubstr("<null_1>"));
  EXPECT_THAT(error_of("MK<MASK>L"), HasSubstr("character '<' at column 3"));
  EXPECT_THAT(error_of("MK<mask"), HasSubstr("character '<' at column 3"));
}

TEST(Letters, S19ForeignCharactersAreNamedWithTheirColumn) {
  EXPECT_THAT(error_of("MK:L"), HasSubstr("character ':' at column 3"));
  EXPECT_THAT(error_of("MK|L"), HasSubstr("character '|' at column 3"));
  EXPECT_THAT(error_of("M\xc3\xa9L"), HasSubstr("character '\xc3\xa9' at column 2"));
  EXPECT_THAT(error_of("M\xe9L"), HasSubstr("byte 0xe9 at column 2"));
  EXPECT_THAT(error_of(std::string_view("M\0L", 3)), HasSubstr("byte 0x00 at column 2"));
  EXPECT_THAT(error_of(std::string(100, 'A') + "#"), HasSubstr("column 101"));
}

TEST(Letters, S19StructureAwareLettersAreRefused) {
  EXPECT_THAT(error_of("MdKv"), HasSubstr("'d'"));
  EXPECT_THAT(error_of("MdKv", kSoftMask), HasSubstr("SaProt"));
  EXPECT_EQ(read("MdKVaA"), "MDKVAA");
  EXPECT_EQ(read("Mk"), "MK");
  EXPECT_EQ(read("MKdv"), "MKDV");
}

TEST(Letters, S28BlanksTabsAndDigitsAreDropped) {
  const Residues residues = read_residues("   1 MSIQH FRVAL\r\n\t11 K");
  EXPECT_EQ(text_of(residues), "MSIQHFRVALK");
  EXPECT_EQ(residues.changes.blanks, 12);
}

TEST(Letters, S22NothingIsAnEmptyResult) {
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read(" \n"), "");
}

// The block path and the path by single letters must agree, wherever an odd letter falls in a block.
TEST(Letters, BlocksAndSingleLettersAgree) {
  for (std::size_t length = 1; length < 100; ++length) {
    for (std::size_t odd = 0; odd < length; ++odd) {
      std::string letters;
      for (std::size_t i = 0; i < length; ++i) letters += esm::kTokens[4 + i % 20][0];
      std::string lower = letters;
      lower[odd] = static_cast<char>(lower[odd] + 32);
      const Residues residues = read_residues(lower);
      ASSERT_EQ(text_of(residues), letters);
      ASSERT_EQ(residues.changes.upper_cased, 1);
    }
  }
}

TEST(Letters, LongRecordsKeepEveryResidue) {
  std::string letters;
  for (int i = 0; i < 1'000'000; ++i) letters += esm::kTokens[static_cast<std::size_t>(4 + i % 20)][0];
  letters[999'999] = 'j';
  const Residues residues = read_residues(letters);
  ASSERT_EQ(residues.tokens.size(), letters.size());
  EXPECT_EQ(residues.tokens[999'999], esm::kX);
  EXPECT_EQ(std::count(residues.tokens.begin(), residues.tokens.end(), esm::token_of('L')), 50'000);
}

TEST(Letters, ChangesInWords) {
  EXPECT_EQ(describe({}), "");
  LetterChanges changes = read_residues("mkJL*").changes;
  changes += read_residues("M*L-", kStripGaps).changes;
  EXPECT_EQ(describe(changes), "upper-cased 2, final * dropped 1, inner * read as X 1, J read as X 1, gaps dropped 1");
}

}  // namespace
}  // namespace biowarp
