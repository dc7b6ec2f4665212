#include "biowarp/contacts.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>

#include "base/fail.h"
#include "io/file.h"

namespace biowarp {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Property;
using ::testing::StartsWith;
using ::testing::Throws;

const Model& model() {
  static const Model loaded = [] {
    ModelOptions options;
    options.name = "random:8M";
    options.threads = 2;
    return Model::load(options);
  }();
  return loaded;
}

RecordCounts write(const std::string& fasta, ContactOptions options) {
  const std::string path = testing::TempDir() + "contacts.fasta";
  write_text(path, fasta);
  RecordReader records({path});
  return write_contacts(model(), records, options);
}

std::string table(const std::string& fasta, double min_probability, std::int64_t min_separation) {
  ContactOptions options;
  options.output = testing::TempDir() + "contacts.tsv";
  options.min_probability = min_probability;
  options.min_separation = min_separation;
  write(fasta, options);
  return read_text(options.output);
}

// Values of member `name` of an .npz without compression: behind the member's name stands its .npy header, padded to a
// multiple of 64 bytes, then the array.
std::vector<float> member(const std::string& npz, const std::string& name, std::size_t count) {
  const std::size_t at = npz.find(name + ".npy");
  const std::size_t magic = npz.find("\x93NUMPY", at);
  EXPECT_NE(magic, std::string::npos) << name;
  const std::size_t data = npz.find('\n', magic) + 1;
  std::vector<float> values(count);
  std::memcpy(values.data(), npz.data() + data, count * sizeof(float));
  return values;
}

TEST(Contacts, TableHoldsPairsFarEnoughApart) {
  EXPECT_EQ(table(">a\nMK\n", 0, 6), "id\ti\tj\tprobability\n");
  const std::string rows = table(">a\nMKTLYWC\n", 0, 6);
  EXPECT_THAT(rows, StartsWith("id\ti\tj\tprobability\na\t1\t7\t0."));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 2);
  const std::string all = table(">a\nMKTLYWC\n", 0, 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 1 + 7 * 6 / 2);
  EXPECT_EQ(table(">a\nMKTLYWC\n", 1, 1), "id\ti\tj\tprobability\n");
}

TEST(Contacts, NpzHoldsOneMapPerRecordUnderDistinctNames) {
  ContactOptions options;
  options.output = testing::TempDir() + "contacts.npz";
  const RecordCounts counts = write(">a\nMKTLY\n>a\nMKW\n>b\nM\n", options);
  EXPECT_EQ(counts.records, 3);
  EXPECT_EQ(counts.skipped, 0);
  const std::string npz = read_text(options.output);
  EXPECT_EQ(member(npz, "a", 25), model().contacts("MKTLY"));
  EXPECT_EQ(member(npz, "a#2", 9), model().contacts("MKW"));
  EXPECT_EQ(member(npz, "b", 1), model().contacts("M"));
}

TEST(Contacts, OneBadRecordDoesNotEndTheJob) {
  ContactOptions options;
  options.output = testing::TempDir() + "contacts.tsv";
  options.min_probability = 0;
  std::string skipped;
  options.on_skip = [&](const Record& record, const std::string&) { skipped += record.id; };
  const RecordCounts counts = write(">a\nMKTLYWC\n>bad\nMK:L\n>c\nMKTLYWC\n", options);
  EXPECT_EQ(counts.skipped, 1);
  EXPECT_EQ(skipped, "bad");
  EXPECT_THAT(read_text(options.output), HasSubstr("\nc\t1\t7\t"));
}

TEST(Contacts, OutputsOfOtherKindsAreRefused) {
  ContactOptions options;
  options.output = "contacts.png";
  EXPECT_THAT([&] { write(">a\nMK\n", options); },
              Throws<Error>(Property(&Error::what, HasSubstr("ends in .npz or .tsv"))));
}

TEST(Contacts, S42RefusedBeforeAnythingIsWritten) {
  ModelOptions without;
  without.name = BIOWARP_SOURCE_DIR "/models/biowarp-esm2-8m";
  const Model headless = Model::load(without);
  ContactOptions options;
  options.output = testing::TempDir() + "never.npz";
  const std::string input = testing::TempDir() + "one.fasta";
  write_text(input, ">a\nMKTL\n");
  RecordReader records({input});
  EXPECT_THAT([&] { write_contacts(headless, records, options); },
              Throws<Error>(Property(&Error::what, HasSubstr("no trained contact head"))));
  EXPECT_FALSE(std::filesystem::exists(options.output));
  EXPECT_FALSE(std::filesystem::exists(options.output + ".partial"));
}

}  // namespace
}  // namespace biowarp
