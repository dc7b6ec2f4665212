#include "biowarp/perplexity.h"

#include <gmock/gmock.h>

#include <cmath>
#include <sstream>

#include "base/fail.h"
#include "io/file.h"

namespace biowarp {
namespace {

using ::testing::HasSubstr;

constexpr const char* kRecords =
    ">sp:one\nMKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSG\n"
    ">tr:two\nAEKAVQVKVKALPDAQFEVVWMKTAYIAKQRQ\n"
    ">sp:three\nmkvl*\n"
    ">tr:bad\nMK:L\n"
    ">sp:empty\n\n"
    ">sp:long\nMKTLYWCHQNDERSTGAVILMFPKTLYWCHQNDERSTGAVILMFP\n";

const Model& model() {
  static const Model loaded = [] {
    ModelOptions options;
    options.name = "random:8M";
    options.threads = 2;
    return Model::load(options);
  }();
  return loaded;
}

std::string input() {
  const std::string path = testing::TempDir() + "perplexity.fasta";
  write_text(path, kRecords);
  return path;
}

PerplexityReport masked(const MaskOptions& masks, const ScoringOptions& scoring = {}, const std::string& dump = "") {
  RecordReader records({input()});
  return masked_perplexity(model(), records, masks, scoring, dump);
}

TEST(Perplexity, BatchesDoNotMatter) {
  MaskOptions masks;
  masks.rate = 0.4;
  ScoringOptions scoring;
  scoring.tokens = 8000;
  const PerplexityReport large = masked(masks, scoring);
  for (const std::int64_t tokens : {1, 64, 100}) {
    scoring.tokens = tokens;
    EXPECT_EQ(masked(masks, scoring).total.loss, large.total.loss) << tokens;
  }
  EXPECT_EQ(large.total.perplexity, std::exp(large.total.loss));
  EXPECT_GT(large.total.positions, 20);
}

TEST(Perplexity, GroupsAddUpToTheWhole) {
  MaskOptions masks;
  masks.rate = 0.5;
  const PerplexityReport report = masked(masks);
  ASSERT_EQ(report.groups.size(), 2u);
  double sum = 0;
  std::int64_t positions = 0;
  for (const auto& [prefix, loss] : report.groups) {
    sum += loss.loss * static_cast<double>(loss.positions);
    positions += loss.positions;
  }
  EXPECT_EQ(positions, report.total.positions);
  EXPECT_NEAR(sum / static_cast<double>(positions), report.total.loss, 1e-12);
}

TEST(Perplexity, DumpedMasksGiveTheSameLoss) {
  MaskOptions masks;
  masks.rate = 0.3;
  masks.seed = 9;
  const std::string dump = testing::TempDir() + "dump.tsv";
  const PerplexityReport drawn = masked(masks, {}, dump);
  MaskOptions table;
  table.masks_file = dump;
  EXPECT_EQ(masked(table).total.loss, drawn.total.loss);
}

TEST(Perplexity, RecordsAreCountedAndNoneIsLostSilently) {
  ScoringOptions scoring;
  scoring.max_length = 40;
  std::string skipped;
  scoring.on_skip = [&](const Record& record, const std::string& reason) { skipped += record.id + ": " + reason; };
  scoring.records_file = testing::TempDir() + "records.tsv";
  const PerplexityReport report = masked({}, scoring);
  EXPECT_EQ(report.counts.records, 6);
  EXPECT_EQ(report.counts.skipped, 1);
  EXPECT_EQ(report.counts.cropped, 2);
  EXPECT_EQ(report.counts.residues, 40 + 32 + 4 + 0 + 40);
  EXPECT_THAT(skipped, HasSubstr("tr:bad: "));
  EXPECT_THAT(report.counts.changes, HasSubstr("upper-cased"));

  std::istringstream table(read_text(scoring.records_file));
  std::vector<std::string> ids;
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string record, id;
    fields >> record >> id;
    ids.push_back(record + " " + id);
  }
  EXPECT_THAT(ids, testing::ElementsAre("record id", "0 sp:one", "1 tr:two", "2 sp:three", "4 sp:empty", "5 sp:long"));
}

TEST(Perplexity, SequencesInMemoryAgreeWithRecords) {
  const std::vector<std::string> sequences{"MKTAYIAKQRQISFVKSHFSRQLEERLG", "AEKAVQVKVKALPDAQFEVVW"};
  const std::string path = testing::TempDir() + "two.fasta";
  write_text(path, ">a\n" + sequences[0] + "\n>b\n" + sequences[1] + "\n");
  MaskOptions masks;
  masks.rate = 0.5;
  RecordReader records({path});
  const MaskedLoss from_file = masked_perplexity(model(), records, masks, {}).total;
  const MaskedLoss from_memory = masked_loss(model(), sequences, masks);
  EXPECT_EQ(from_memory.loss, from_file.loss);
  EXPECT_EQ(from_memory.positions, from_file.positions);
}

TEST(Perplexity, WithoutSelectedResiduesThereIsNoNumber) {
  const std::vector<std::string> sequences{""};
  const MaskedLoss loss = masked_loss(model(), sequences);
  EXPECT_EQ(loss.positions, 0);
  EXPECT_TRUE(std::isnan(loss.loss) && std::isnan(loss.perplexity));
}

TEST(Perplexity, S57PseudoPerplexityCoversEveryResidue) {
  const std::string path = testing::TempDir() + "short.fasta";
  write_text(path, ">a\nMK\n>b\nMKTL\n");
  RecordReader records({path});
  const PseudoReport report = pseudo_perplexity(model(), records, {});
  double sum = 0;
  for (const std::string sequence : {"MK", "MKTL"}) {
    for (const double score : model().pseudo_log_likelihood(sequence)) sum += score;
  }
  EXPECT_NEAR(report.pll_sum, sum, 1e-12);
  EXPECT_DOUBLE_EQ(report.pll_mean, sum / 6);
  EXPECT_DOUBLE_EQ(report.pppl, std::exp(-sum / 6));
}

TEST(Perplexity, S58S59EveryNumberCarriesItsNameAndDefinition) {
  EXPECT_THAT(masked({}).definition, HasSubstr("15 % of the residues selected (seed 0), 80 % shown as <mask>"));
  MaskOptions masks;
  masks.scheme = MaskScheme::mask;
  EXPECT_THAT(masked(masks).definition, HasSubstr("all shown as <mask>"));
  RecordReader records({input()});
  ScoringOptions scoring;
  scoring.max_length = 0;
  scoring.records_file = testing::TempDir() + "pseudo.tsv";
  const PseudoReport report = pseudo_perplexity(model(), records, scoring);
  for (const char* name : {"pll_sum", "pll_mean", "pppl", "full length"}) {
    EXPECT_THAT(report.definition, HasSubstr(name));
  }
  EXPECT_THAT(read_text(scoring.records_file), HasSubstr("record\tid\tresidues\tpll_sum\tpll_mean\tpppl\n"));
}

}  // namespace
}  // namespace biowarp
