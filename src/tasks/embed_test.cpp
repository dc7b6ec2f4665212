// embed and extract over a real model of the public 8M shape with random weights.
#include "biowarp/embed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "biowarp/error.h"
#include "biowarp/extract.h"
#include "io/file.h"
#include "io/npy.h"

namespace biowarp {
namespace {

const Model& model() {
  static const Model instance = [] {
    ModelOptions options;
    options.name = "random:8M";
    options.threads = 2;
    return Model::load(options);
  }();
  return instance;
}

class EmbedTest : public testing::Test {
 protected:
  EmbedTest() {
    folder_ = std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    job_.inputs = {path("in.fasta")};
    job_.output = path("out.npy");
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void input(const std::string& fasta) const { std::ofstream(path("in.fasta"), std::ios::binary) << fasta; }

  std::vector<float> run() const {
    embed(model(), job_);
    const std::string bytes = read_text(job_.output).substr(kNpyHeaderBytes);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  std::filesystem::path folder_;
  EmbedJob job_;
};

double mean_of(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double variance_of(std::span<const float> values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const float value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size());
}

// A row after the final norm (weights 1, biases 0 in a random model) has mean 0 and variance 1; the state before the
// last layer has not.
TEST_F(EmbedTest, S54LastLayerIsAfterTheFinalNorm) {
  input(">a\nM\n");
  job_.layers = {5, -1};
  const std::vector<float> values = run();
  ASSERT_EQ(values.size(), 640u);
  const std::span<const float> before(values.data(), 320), last(values.data() + 320, 320);
  EXPECT_NEAR(mean_of(last), 0.0, 1e-5);
  EXPECT_NEAR(variance_of(last), 1.0, 1e-3);
  EXPECT_GT(std::abs(variance_of(before) - 1.0), 0.1);
  job_.layers = {6};
  EXPECT_THAT(run(), testing::ElementsAreArray(last));
}

TEST_F(EmbedTest, S35RowsAreTheSameBitsAloneAndInCompany) {
  input(">a\nMKTL\n");
  const std::vector<float> alone = run();
  input(">b\n" + std::string(500, 'A') + "\n>a\nMKTL\n>c\n" + std::string(77, 'W') + "\n");
  const std::vector<float> together = run();
  ASSERT_EQ(together.size(), 960u);
  EXPECT_EQ(std::memcmp(alone.data(), together.data() + 320, 320 * sizeof(float)), 0);
}

TEST_F(EmbedTest, S55MeanAgreesWithEncode) {
  input(">a\nMKTLLV\n");
  const std::vector<std::string> sequences{"MKTLLV"};
  EXPECT_EQ(run(), model().encode(sequences).pooled);
}

TEST_F(EmbedTest, UnknownLayersAreRefused) {
  input(">a\nMK\n");
  job_.layers = {7};
  EXPECT_THROW(run(), Error);
  EXPECT_FALSE(std::filesystem::exists(job_.output));
}

// Contacts of records in one batch have their own size, and truncation leaves [kept, kept].
TEST_F(EmbedTest, S04S41ContactsAreCroppedToTheResiduesKept) {
  input(">a\nMKTLL\n>b\n" + std::string(50, 'A') + "\n");
  ExtractOptions options;
  options.output_dir = path("pt");
  options.contacts = true;
  options.max_length = 20;
  RecordReader records({path("in.fasta")});
  const RecordCounts counts = extract(model(), records, options);
  EXPECT_EQ(counts.records, 2);
  EXPECT_EQ(counts.cropped, 1);
  // The shape as pickled: a tuple of two 32-bit integers.
  const auto pickled = [](char size) {
    const std::string axis = {'J', size, 0, 0, 0};
    return "(" + axis + axis + "t";
  };
  EXPECT_THAT(read_text(path("pt/a.pt")), testing::HasSubstr(pickled(5)));
  EXPECT_THAT(read_text(path("pt/b.pt")), testing::HasSubstr(pickled(20)));
}

}  // namespace
}  // namespace biowarp
