// The embed job over a made-up forward pass: hidden[t][c] of layer l is a simple function of token, position, c and l,
// so every expected value can be written down.
#include "tasks/embed_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/fail.h"
#include "io/file.h"
#include "io/npy.h"
#include "seq/alphabet.h"

namespace biowarp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kWidth = 3;
const char* const kLetters = "LAGVSERTIDPKQNFYMHWC";

float made_up(std::int32_t token, std::int64_t position, int layer, std::int64_t c) {
  return static_cast<float>(token) + 0.25f * static_cast<float>(position % 64) + 100.0f * static_cast<float>(layer) +
         1000.0f * static_cast<float>(c);
}

class EmbedJobTest : public testing::Test {
 protected:
  EmbedJobTest() : context_(pool_) {
    folder_ = std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    job_.inputs = {path("in.fasta")};
    job_.output = path("out.npy");
    job_.tokens = 64;
    model_.name = "made-up";
    model_.hash = "0123456789abcdef";
    model_.device = "test (test)";
    model_.hidden = kWidth;
    model_.layers = 6;
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void input(const std::string& fasta) const { std::ofstream(path("in.fasta"), std::ios::binary) << fasta; }

  // `count` records of 1 to 30 residues, some of which cannot be embedded.
  static std::string many(int count, int changed = -1) {
    std::string fasta;
    for (int i = 0; i < count; ++i) {
      const std::string letters =
          i % 17 == 5 ? "M:K" : std::string(static_cast<std::size_t>(1 + i * 7 % 30), kLetters[i % 20]);
      fasta += fmt::format(">r{} number {}\n{}\n", i % 19, i, i == changed ? "MMMM" : letters);
    }
    return fasta;
  }

  EmbedSummary run() {
    EmbedSettings settings = resolve_job(job_, model_, layers_);
    settings.largest_tokens = largest_tokens_;
    return run_embed_job(job_, settings,
                         [this](const PackedBatch& batch, const LayerSink& sink) { forward(batch, sink); });
  }

  void forward(const PackedBatch& batch, const LayerSink& sink) {
    if (batches_++ == fail_at_) fail_input("stopped on purpose");
    if (batch.longest > refused_tokens_) fail(ErrorKind::device, "no memory for {} tokens", batch.longest);
    rows_ += batch.rows();
    most_rows_ = std::max(most_rows_, batch.rows());
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      std::vector<float> hidden;
      for (std::int64_t t = 0; t < batch.rows(); ++t) {
        const auto at = static_cast<std::size_t>(t);
        for (std::int64_t c = 0; c < kWidth; ++c) {
          hidden.push_back(made_up(batch.tokens[at], batch.positions[at], layers_[l], c));
        }
      }
      if (poison_) hidden[static_cast<std::size_t>(kWidth)] = std::numeric_limits<float>::quiet_NaN();
      sink(context_, static_cast<std::int64_t>(l), hidden.data());
    }
  }

  std::string header(const std::string& name = "out.npy") const { return read_text(path(name)).substr(10, 118); }

  std::vector<float> values(const std::string& name = "out.npy") const {
    const std::string bytes = read_text(path(name)).substr(kNpyHeaderBytes);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  std::vector<IndexLine> index(const std::string& name = "out.npy") const {
    IndexReader reader(path(name + ".index.tsv"));
    EXPECT_TRUE(reader.valid());
    std::vector<IndexLine> lines;
    IndexLine line;
    while (reader.next(line)) lines.push_back(line);
    return lines;
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  // Stops the job at one batch after the other and resumes it; then compares with an uninterrupted run.
  void interrupt_everywhere(const std::string& name) {
    job_.output = path(name);
    run();
    const auto whole = contents();
    for (std::int64_t stop = 0; stop < 12; ++stop) {
      for (const auto& entry : whole) std::filesystem::remove(path(entry.first));
      job_.resume = false;
      batches_ = 0;
      fail_at_ = stop;
      EXPECT_THROW(run(), Error);
      for (const auto& entry : whole) {
        EXPECT_TRUE(job_.shard > 0 || !std::filesystem::exists(path(entry.first))) << entry.first;
      }
      fail_at_ = -1;
      job_.resume = true;
      run();
      EXPECT_EQ(contents(), whole) << "stopped at batch " << stop;
    }
    EXPECT_EQ(files().size(), whole.size() + 1);
    job_.resume = false;
  }

  std::vector<std::pair<std::string, std::string>> contents() const {
    std::vector<std::pair<std::string, std::string>> contents;
    for (const std::string& name : files()) {
      if (name.starts_with("out")) contents.emplace_back(name, read_text(path(name)));
    }
    return contents;
  }

  std::filesystem::path folder_;
  ThreadPool pool_{2};
  Context context_;
  EmbedJob job_;
  ModelInfo model_;
  std::vector<int> layers_{6};
  std::int64_t largest_tokens_ = 1 << 20;
  std::int64_t refused_tokens_ = 1 << 20;
  std::int64_t batches_ = 0, rows_ = 0, most_rows_ = 0;
  std::int64_t fail_at_ = -1;
  bool poison_ = false;
};

TEST_F(EmbedJobTest, S55MeanOfOneResidueIsItsRow) {
  input(">one\nM\n");
  run();
  EXPECT_THAT(header(), HasSubstr("'shape': (1, 3)"));
  const std::int32_t m = esm::token_of('M');
  EXPECT_THAT(values(), ElementsAre(made_up(m, 1, 6, 0), made_up(m, 1, 6, 1), made_up(m, 1, 6, 2)));
}

// cls and eos are the special tokens' own rows, and nothing is normalised.
TEST_F(EmbedJobTest, S56PoolingIsWhatWasAskedFor) {
  input(">a\nMK\n");
  job_.pooling = Pooling::cls;
  run();
  EXPECT_EQ(values()[0], made_up(esm::kCls, 0, 6, 0));
  job_.pooling = Pooling::eos;
  run();
  EXPECT_EQ(values()[0], made_up(esm::kEos, 3, 6, 0));
  job_.pooling = Pooling::max;
  run();
  EXPECT_EQ(values()[0], made_up(esm::token_of('M'), 1, 6, 0));
}

TEST_F(EmbedJobTest, S54SeveralLayersInAscendingOrder) {
  input(">a\nM\n>b\nK\n");
  layers_ = {0, 5, 6};
  run();
  EXPECT_THAT(header(), HasSubstr("'shape': (2, 3, 3)"));
  const std::vector<float> found = values();
  for (int l = 0; l < 3; ++l) {
    EXPECT_EQ(found[static_cast<std::size_t>(9 + 3 * l)],
              made_up(esm::token_of('K'), 1, layers_[static_cast<std::size_t>(l)], 0));
  }
}

TEST_F(EmbedJobTest, S22EmptyRecordsAreSkippedWithAReason) {
  input(">a\n>b\nMK\n>c\n*\n");
  const EmbedSummary summary = run();
  EXPECT_EQ(summary.embedded, 1);
  EXPECT_EQ(summary.skipped, 2);
  EXPECT_THAT(header(), HasSubstr("'shape': (1, 3)"));
  const auto lines = index();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[0].skipped());
  EXPECT_EQ(lines[0].reason, "no residues");
  EXPECT_EQ(lines[1].row, 0);
  EXPECT_EQ(lines[2].reason, "no residues");
}

TEST_F(EmbedJobTest, S23DuplicateIdsAreKept) {
  input(">a\nMK\n>a\nML\n");
  EXPECT_EQ(run().embedded, 2);
  EXPECT_EQ(index()[1].id, "a");
  EXPECT_EQ(index()[1].row, 1);
  EXPECT_NE(values()[0], values()[3]);
  job_.unique_ids = true;
  try {
    run();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_THAT(error.what(), HasSubstr("in.fasta:1 and in "));
    EXPECT_THAT(error.what(), HasSubstr("in.fasta:3"));
  }
}

TEST_F(EmbedJobTest, S26FirstWordIsTheIdAndTheRestIsKept) {
  input(">P1 human kinase\nMK\n");
  run();
  EXPECT_EQ(index()[0].id, "P1");
  EXPECT_EQ(index()[0].description, "human kinase");
}

// S24, S25: whatever stands in a header, the files are those that were asked for.
TEST_F(EmbedJobTest, S24S25HeadersNeverBecomeFileNames) {
  input(">sp/P1/X\nMK\n>../../x\nMK\n>" + std::string(400, 'h') + "\nMK\n");
  job_.output = path("out.h5");
  run();
  EXPECT_THAT(files(), ElementsAre("in.fasta", "out.h5", "out.h5.index.tsv"));
  EXPECT_EQ(index("out.h5")[1].id, "../../x");
  EXPECT_EQ(index("out.h5")[1].key, ".._.._x");
}

// A long record among others: at full length, cut, windowed, or left out; the others never suffer.
TEST_F(EmbedJobTest, S01S02S03LongRecordsFollowThePolicy) {
  input(">a\nMK\n>long\n" + std::string(1100, 'A') + "\n>b\nMK\n");
  EmbedSummary summary = run();
  EXPECT_EQ(summary.embedded, 3);
  EXPECT_EQ(summary.beyond_training, 1);
  EXPECT_EQ(summary.residues, 1104);
  EXPECT_THAT(index()[1].changes, IsEmpty());

  job_.long_policy = LongPolicy::error;
  summary = run();
  EXPECT_EQ(summary.embedded, 2);
  EXPECT_EQ(summary.skipped, 1);
  EXPECT_THAT(index()[1].reason, HasSubstr("1100 residues"));
  EXPECT_THAT(header(), HasSubstr("'shape': (2, 3)"));
}

// Truncation keeps the begin and the end token around the first residues, and no row of theirs leaks out.
TEST_F(EmbedJobTest, S04S05TruncationKeepsTheEndTokenAndOnlyResidueRows) {
  input(">long\n" + std::string(1030, 'A') + "\n");
  job_.long_policy = LongPolicy::truncate;
  job_.pooling = Pooling::eos;
  const EmbedSummary summary = run();
  EXPECT_EQ(summary.truncated, 1);
  EXPECT_EQ(summary.run_tokens, 1024);
  EXPECT_EQ(values()[0], made_up(esm::kEos, 1023, 6, 0));
  EXPECT_EQ(index()[0].length, 1022);
  EXPECT_EQ(index()[0].changes, "truncated from 1030 to 1022 residues");

  job_.per_residue = true;
  job_.output = path("out.tsv");
  run();
  const std::string text = read_text(path("out.tsv"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 1022);
}

TEST_F(EmbedJobTest, S10NoWarningForRecordsOfTheTrainedLength) {
  input(">a\n" + std::string(1022, 'A') + "\n");
  EXPECT_EQ(run().beyond_training, 0);
}

TEST_F(EmbedJobTest, S08OneWindowIsTheSameAsNone) {
  input(">a\nMKTLLVAG\n>b\n" + std::string(1022, 'A') + "\n");
  run();
  const std::string full = read_text(path("out.npy"));
  job_.long_policy = LongPolicy::window;
  EXPECT_EQ(run().windowed, 0);
  EXPECT_EQ(read_text(path("out.npy")), full);
}

// With hidden states that depend on the token alone, merged windows must give those states back.
TEST_F(EmbedJobTest, S06WindowsCoverLongRecordsInBoundedBatches) {
  std::string letters;
  for (int i = 0; i < 3001; ++i) letters += kLetters[i * i % 20];
  input(">long\n" + letters + "\n>b\nMK\n");
  job_.long_policy = LongPolicy::window;
  job_.max_length = 64;  // positions enter made_up modulo 64
  job_.tokens = 100;
  job_.per_residue = true;
  job_.output = path("out.tsv");
  const EmbedSummary summary = run();
  EXPECT_EQ(summary.windowed, 1);
  EXPECT_LE(most_rows_, 100);
  EXPECT_THAT(index("out.tsv")[0].changes, HasSubstr("windows of 64 residues"));

  std::ifstream file(path("out.tsv"));
  std::string line;
  std::getline(file, line);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    std::getline(file, line);
    const float value = std::strtof(line.substr(line.find('\t', line.find('\t') + 1)).c_str(), nullptr);
    const float token = static_cast<float>(esm::token_of(letters[i])) + 600.0f;
    ASSERT_GE(value, token);
    ASSERT_LE(value, token + 0.25f * 63) << i;
  }
}

TEST_F(EmbedJobTest, S72RecordsThatMemoryCannotHoldAreSkipped) {
  input(">a\nMK\n>big\n" + std::string(500, 'A') + "\n>b\nMK\n");
  largest_tokens_ = 100;  // known beforehand
  EmbedSummary summary = run();
  EXPECT_EQ(summary.embedded, 2);
  EXPECT_THAT(index()[1].reason, HasSubstr("do not fit the memory"));
  EXPECT_THAT(summary.skip_reasons, ElementsAre(HasSubstr("big: 500 residues")));

  largest_tokens_ = 1 << 20;
  refused_tokens_ = 100;  // found out while computing
  summary = run();
  EXPECT_EQ(summary.embedded, 2);
  EXPECT_THAT(index()[1].reason, HasSubstr("no memory for 502 tokens"));
}

TEST_F(EmbedJobTest, S48ResultsThatAreNotFiniteAreSkipped) {
  input(">a\nMK\n");
  poison_ = true;
  EXPECT_EQ(run().skipped, 1);
  EXPECT_THAT(index()[0].reason, HasSubstr("nan"));
}

TEST_F(EmbedJobTest, S76ValuesBeyondF16AreNotWrittenAsInfinity) {
  input(">a\nMK\n");
  layers_ = {700};  // hidden states of 70,000
  job_.out_dtype = DType::f16;
  EXPECT_EQ(run().skipped, 1);
  EXPECT_THAT(index()[0].reason, HasSubstr("f16"));
}

TEST_F(EmbedJobTest, S35RowsDoNotDependOnTheTokenBudget) {
  input(many(60));
  run();
  const std::string small = read_text(path("out.npy")), small_index = read_text(path("out.npy.index.tsv"));
  const std::int64_t rows = rows_;
  job_.tokens = 4096;
  run();
  EXPECT_EQ(rows_, 2 * rows);
  EXPECT_EQ(read_text(path("out.npy")), small);
  EXPECT_EQ(read_text(path("out.npy.index.tsv")), small_index);
}

TEST_F(EmbedJobTest, BatchesKeepTheBudget) {
  input(many(60));
  run();
  EXPECT_LE(most_rows_, 64);
  EXPECT_GE(most_rows_, 40);
}

TEST_F(EmbedJobTest, EmptyInputGivesAnEmptyMatrix) {
  input("");
  EXPECT_EQ(run().records, 0);
  EXPECT_THAT(header(), HasSubstr("'shape': (0, 3)"));
}

TEST_F(EmbedJobTest, ShardsHoldTheSameRows) {
  input(many(60));
  run();
  const std::vector<float> whole = values();
  job_.shard = 20;
  const EmbedSummary summary = run();
  ASSERT_EQ(summary.files.size(), 3u);
  EXPECT_EQ(summary.files[1], path("out.00002.npy"));
  std::vector<float> joined;
  for (const char* name : {"out.00001.npy", "out.00002.npy", "out.00003.npy"}) {
    const std::vector<float> part = values(name);
    joined.insert(joined.end(), part.begin(), part.end());
    EXPECT_EQ(index(name).size(), 20u);
  }
  EXPECT_EQ(joined, whole);
}

TEST_F(EmbedJobTest, ResumesMatrices) {
  input(many(60));
  interrupt_everywhere("out.npy");
}

TEST_F(EmbedJobTest, ResumesOtherFormats) {
  input(many(60));
  job_.per_residue = true;
  interrupt_everywhere("out.h5");
}

TEST_F(EmbedJobTest, ResumesShards) {
  input(many(60));
  for (const std::int64_t shard : {7, 20}) {
    job_.shard = shard;
    interrupt_everywhere("out.npz");
    for (const std::string& name : files()) {
      if (name.starts_with("out")) std::filesystem::remove(path(name));
    }
  }
}

TEST_F(EmbedJobTest, ResumingACompleteJobComputesNothing) {
  input(many(60));
  for (const std::int64_t shard : {0, 20, 25}) {
    job_.shard = shard;
    job_.resume = false;
    run();
    const auto whole = contents();
    job_.resume = true;
    rows_ = 0;
    const EmbedSummary summary = run();
    EXPECT_EQ(rows_, 0);
    EXPECT_EQ(summary.resumed, 60);
    EXPECT_EQ(summary.skipped, 4);
    EXPECT_EQ(contents(), whole);
  }
}

// A changed sequence under the same id, a changed setting, another model: nothing old is taken over.
TEST_F(EmbedJobTest, S34ResumeNeverMixesInputsOrSettings) {
  for (const int changed : {0, 8, 40}) {
    input(many(60));
    job_.resume = false;
    fail_at_ = batches_ + 6;
    EXPECT_THROW(run(), Error);
    fail_at_ = -1;
    input(many(60, changed));
    job_.resume = true;
    run();
    const std::string resumed = read_text(path("out.npy"));
    job_.resume = false;
    run();
    EXPECT_EQ(read_text(path("out.npy")), resumed);
  }
  job_.resume = true;
  for (const char* change : {"model", "pooling", "dtype", "length"}) {
    if (change == std::string("model")) model_.hash = "another";
    if (change == std::string("pooling")) job_.pooling = Pooling::max;
    if (change == std::string("dtype")) job_.out_dtype = DType::f16;
    if (change == std::string("length")) job_.long_policy = LongPolicy::truncate;
    EXPECT_EQ(run().resumed, 0) << change;
    EXPECT_EQ(run().resumed, 60) << change;
  }
}

TEST_F(EmbedJobTest, S34ChangedShardIsRecomputed) {
  input(many(60));
  job_.shard = 20;
  run();
  input(many(60, 45));
  job_.resume = true;
  EXPECT_EQ(run().resumed, 40);
  input(many(60));
  EXPECT_EQ(run().resumed, 40);
}

// Cut at any byte, the files of an interrupted job lead to the same result.
TEST_F(EmbedJobTest, TornFilesAreCutBack) {
  input(many(40));
  run();
  const auto whole = contents();
  fail_at_ = batches_ + 5;
  EXPECT_THROW(run(), Error);
  fail_at_ = -1;
  const std::string rows = read_text(path("out.npy.partial")), journal = read_text(path("out.npy.journal.partial"));
  job_.resume = true;
  for (std::size_t step = 0; step < 23; ++step) {
    std::ofstream(path("out.npy.partial"), std::ios::binary) << rows.substr(0, rows.size() * step / 22);
    std::ofstream(path("out.npy.journal.partial"), std::ios::binary)
        << journal.substr(0, journal.size() - step * 37 % journal.size());
    std::filesystem::remove(path("out.npy"));
    run();
    EXPECT_EQ(contents(), whole) << step;
  }
}

// Killed behind the last rename, before the journal was removed.
TEST_F(EmbedJobTest, TheJournalOfAWholeFileGoes) {
  input(many(40));
  run();
  const auto whole = files();
  write_text(path("out.npy.journal.partial"), read_text(path("out.npy.index.tsv")));
  job_.resume = true;
  EXPECT_EQ(run().resumed, 40);
  EXPECT_EQ(files(), whole);
}

TEST_F(EmbedJobTest, UsageErrorsComeBeforeAnyFile) {
  input(many(3));
  const auto refused = [&](const char* expected) {
    try {
      run();
      ADD_FAILURE() << expected;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_THAT(error.what(), HasSubstr(expected));
    }
    EXPECT_THAT(files(), ElementsAre("in.fasta"));
  };
  job_.per_residue = true;
  refused(".npy");
  job_.per_residue = false;
  job_.out_dtype = DType::bf16;
  refused("bf16");
  job_.out_dtype = DType::f32;
  job_.long_policy = LongPolicy::window;
  job_.overlap = 1022;
  refused("--overlap");
  job_.long_policy = LongPolicy::full;
  job_.output = path("out.xyz");
  refused("--format");
  job_.output = "-";
  job_.resume = true;
  refused("--resume");
}

}  // namespace
}  // namespace biowarp
