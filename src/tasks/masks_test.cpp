#include "tasks/masks.h"

#include <gmock/gmock.h>

#include <array>
#include <cstdio>

#include "base/fail.h"
#include "io/file.h"
#include "seq/alphabet.h"

namespace biowarp {
namespace {

using ::testing::HasSubstr;
using ::testing::Property;
using ::testing::Throws;

constexpr auto kMaskToken = static_cast<std::uint8_t>(esm::kMask);

std::vector<std::uint8_t> residues(std::size_t length) {
  std::vector<std::uint8_t> tokens(length);
  for (std::size_t i = 0; i < length; ++i) tokens[i] = static_cast<std::uint8_t>(4 + i % 20);
  return tokens;
}

std::vector<MaskedResidue> select(const MaskOptions& options, std::int64_t record,
                                  const std::vector<std::uint8_t>& tokens) {
  return open_masks(options)->select(record, tokens);
}

std::string table_of(const std::string& rows) {
  const std::string path = testing::TempDir() + "masks.tsv";
  write_text(path, kMaskHeader + rows);
  return path;
}

std::vector<MaskedResidue> select_from(const std::string& rows, const std::vector<std::uint8_t>& tokens) {
  MaskOptions options;
  options.masks_file = table_of(rows);
  const auto source = open_masks(options);
  auto selected = source->select(0, tokens);
  source->finish();
  return selected;
}

TEST(Masks, RatesAreWhatWasAskedFor) {
  MaskOptions options;
  std::array<double, 3> shown{};  // <mask>, another letter, itself
  double selected = 0;
  const std::vector<std::uint8_t> tokens = residues(200000);
  for (const MaskedResidue& mask : select(options, 0, tokens)) {
    EXPECT_EQ(mask.target, tokens[static_cast<std::size_t>(mask.residue)]);
    ++selected;
    ++shown[mask.input == kMaskToken ? 0 : mask.input == mask.target ? 2 : 1];
  }
  // Four standard deviations. One random letter in twenty is the letter itself.
  EXPECT_NEAR(selected / 200000, 0.15, 0.0032);
  EXPECT_NEAR(shown[0] / selected, 0.8, 0.0093);
  EXPECT_NEAR(shown[1] / selected, 0.1 * 19 / 20, 0.0068);
  EXPECT_NEAR(shown[2] / selected, 0.1 + 0.1 / 20, 0.0071);
}

TEST(Masks, SelectionIsAFunctionOfSeedRecordAndPosition) {
  MaskOptions options;
  const auto whole = select(options, 5, residues(400));
  const auto part = select(options, 5, residues(100));
  ASSERT_LT(part.size(), whole.size());
  for (std::size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i].residue, whole[i].residue);
  EXPECT_EQ(mask_rows(0, select(options, 5, residues(400))), mask_rows(0, whole));
  EXPECT_NE(mask_rows(0, select(options, 6, residues(400))), mask_rows(0, whole));
  options.seed = 1;
  EXPECT_NE(mask_rows(0, select(options, 5, residues(400))), mask_rows(0, whole));
}

TEST(Masks, SchemeMaskShowsNothingElse) {
  MaskOptions options;
  options.scheme = MaskScheme::mask;
  options.rate = 1;
  const auto all = select(options, 0, residues(300));
  ASSERT_EQ(all.size(), 300u);
  for (const MaskedResidue& mask : all) EXPECT_EQ(mask.input, kMaskToken);
}

TEST(Masks, RandomLettersComeFromTheSetAskedFor) {
  MaskOptions options;
  options.rate = 1;
  std::array<bool, 33> letters{}, tokens{};
  for (const MaskedResidue& mask : select(options, 0, residues(20000))) letters[mask.input] = true;
  options.random = RandomLetters::vocabulary;
  for (const MaskedResidue& mask : select(options, 0, residues(20000))) tokens[mask.input] = true;
  for (std::size_t token = 0; token < 33; ++token) {
    EXPECT_EQ(letters[token], (token >= 4 && token < 24) || token == 32) << token;
    EXPECT_TRUE(tokens[token]) << token;
  }
}

TEST(Masks, AMaskInTheRecordIsNeverSelected) {
  MaskOptions options;
  options.rate = 1;
  std::vector<std::uint8_t> tokens = residues(5);
  tokens[2] = kMaskToken;
  const auto selected = select(options, 0, tokens);
  ASSERT_EQ(selected.size(), 4u);
  for (const MaskedResidue& mask : selected) EXPECT_NE(mask.residue, 2);
}

TEST(Masks, ATableReadsBackAsWritten) {
  const std::vector<std::uint8_t> tokens = residues(300);
  const auto drawn = select({}, 0, tokens);
  const std::string rows = mask_rows(0, drawn);
  EXPECT_EQ(mask_rows(0, select_from(rows, tokens)), rows);
}

TEST(Masks, ATableThatDoesNotFitTheInputIsRefused) {
  const std::vector<std::uint8_t> tokens{4, 5, 6};  // L A G
  const auto refuses = [&](const std::string& rows, const std::string& text) {
    EXPECT_THAT([&] { select_from(rows, tokens); }, Throws<Error>(Property(&Error::what, HasSubstr(text)))) << rows;
  };
  EXPECT_EQ(select_from("0\t3\t<mask>\tG\n", tokens).size(), 1u);
  refuses("0\t1\t<mask>\tG\n", "line 2: record 0 has L at position 1, the table says G");
  refuses("0\t4\t<mask>\tG\n", "residues 1 to 3, got position 4");
  refuses("0\t0\t<mask>\tG\n", "got position 0");
  refuses("0\t3\t<mask>\tG\n0\t1\tL\tL\n", "line 3: positions of record 0 must ascend");
  refuses("1\t1\t<mask>\tL\n", "record 1 is not in the input");
  refuses("0\t1\t<mask>\n", "expected 4 columns, got 3");
  refuses("0\tone\t<mask>\tL\n", "expected a number, got 'one'");
  refuses("0\t1\t<mast>\tL\n", "got '<mast>'");
}

TEST(Masks, UnreadableTablesAndRatesAreRefused) {
  MaskOptions options;
  options.masks_file = "/nowhere/masks.tsv";
  EXPECT_THROW(open_masks(options), Error);
  options.masks_file = testing::TempDir() + "empty.tsv";
  write_text(options.masks_file, "");
  EXPECT_THROW(open_masks(options), Error);
  for (const double rate : {0.0, -0.1, 1.5}) {
    MaskOptions bad;
    bad.rate = rate;
    EXPECT_THROW(open_masks(bad), Error) << rate;
  }
  EXPECT_THROW(parse_mask_scheme("80/20"), Error);
  EXPECT_THROW(parse_random_letters("dna"), Error);
}

}  // namespace
}  // namespace biowarp
