// Model on random weights of the public 8M shape: what must hold whatever the weights are.
#include "biowarp/model.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "base/cpu.h"
#include "base/fail.h"
#include "models/open_model.h"
#include "seq/alphabet.h"
#include "tasks/engine.h"
#include "tasks/log_likelihood.h"

namespace biowarp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Property;
using ::testing::Throws;

constexpr const char* kName = "random:8M:3";
constexpr std::int64_t kWidth = 320, kLayers = 6;

Model load(Precision precision = Precision::f32, int threads = 2) {
  ModelOptions options;
  options.name = kName;
  options.precision = precision;
  options.threads = threads;
  return Model::load(options);
}

const Model& model() {
  static const Model loaded = load();
  return loaded;
}

// Precisions this machine has.
std::vector<Precision> precisions() {
  std::vector<Precision> all{Precision::f32};
  if (cpu_features().avx512_bf16) all.push_back(Precision::bf16);
  if (cpu_features().avx512_vnni) all.push_back(Precision::int8);
  return all;
}

std::string protein(std::size_t length, std::size_t start) {
  static constexpr std::string_view kLetters =
      "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVVW";
  std::string text;
  for (std::size_t i = 0; i < length; ++i) text += kLetters[(start + i * (1 + start % 3)) % kLetters.size()];
  return text;
}

// Row [C] of the embedding table.
std::vector<float> embedding_of(std::int32_t token) {
  const OpenedModel opened = open_model({kName, "", "", false});
  std::vector<float> row(kWidth);
  opened.params->read("embed.weight", token, 1, row.data());
  return row;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

EncodeOptions all_layers_per_residue(std::int64_t tokens = 0) {
  EncodeOptions options;
  options.layers = {0, 3, -1};
  options.pooling = {Pooling::mean, Pooling::cls, Pooling::max, Pooling::eos};
  options.per_residue = true;
  options.tokens = tokens;
  return options;
}

TEST(Model, SameBitsWhateverBatchMatesBudgetAndThreads) {
  std::vector<std::string> sequences{"M", "", "MKTL"};
  for (const std::size_t length : {2, 31, 62, 130, 257, 400}) sequences.push_back(protein(length, length % 7));
  for (const Precision precision : precisions()) {
    std::vector<Embeddings> alone;
    const Model first = load(precision, 1);
    for (const std::string& sequence : sequences) {
      alone.push_back(first.encode({&sequence, 1}, all_layers_per_residue(1000)));
    }
    for (const int threads : {1, 2, 3}) {
      const Model loaded = load(precision, threads);
      for (const std::int64_t tokens : {64, 1000, 8000}) {
        const Embeddings together = loaded.encode(sequences, all_layers_per_residue(tokens));
        const std::size_t row = together.pooled.size() / sequences.size();
        for (std::size_t i = 0; i < sequences.size(); ++i) {
          const auto start = together.pooled.begin() + static_cast<std::ptrdiff_t>(i * row);
          const std::vector<float> pooled(start, start + static_cast<std::ptrdiff_t>(row));
          const std::string what = fmt::format("{}, {} threads, budget {}, length {}", name_of(precision), threads,
                                               tokens, sequences[i].size());
          EXPECT_TRUE(same_bits(pooled, alone[i].pooled)) << what;
          EXPECT_TRUE(same_bits(together.per_residue[i], alone[i].per_residue[0])) << what;
        }
      }
    }
  }
}

TEST(Model, S35LogitsDoNotDependOnBatchMates) {
  const std::vector<std::string> mates{std::string(500, 'A'), "MKTL", std::string(37, 'W')};
  const std::string alone = "MKTL";
  const Embeddings batch = model().encode(mates, all_layers_per_residue(8000));
  const Embeddings single = model().encode({&alone, 1}, all_layers_per_residue());
  EXPECT_TRUE(same_bits(batch.per_residue[1], single.per_residue[0]));
}

TEST(Model, S37TokenDropoutUsesEachSequencesOwnLength) {
  const std::vector<std::string> both{"MK<mask>L", std::string(90, 'A'), "MKTL"};
  EncodeOptions options = all_layers_per_residue(8000);
  const Embeddings together = model().encode(both, options);
  for (std::size_t i = 0; i < both.size(); ++i) {
    const Embeddings alone = model().encode({&both[i], 1}, options);
    EXPECT_TRUE(same_bits(together.per_residue[i], alone.per_residue[0])) << both[i];
  }
}

TEST(Model, S38EmbeddingsAreScaledForTokenDropout) {
  EncodeOptions options;
  options.layers = {0};
  options.per_residue = true;
  const std::vector<std::string> sequences{"MK", "MK<mask>L"};
  const Embeddings out = model().encode(sequences, options);
  const std::vector<float> lysine = embedding_of(esm::token_of('K'));
  for (std::size_t c = 0; c < kWidth; ++c) {
    // 0.88 without masks; 0.88 / (1 - 1/6) with one mask among 4 residues, begin and end.
    EXPECT_NEAR(out.per_residue[0][kWidth + c], 0.88f * lysine[c], 1e-7) << c;
    EXPECT_NEAR(out.per_residue[1][kWidth + c], 0.88f / (1 - 1.0f / 6) * lysine[c], 1e-7) << c;
    EXPECT_EQ(out.per_residue[1][2 * kWidth + c], 0.0f) << c;
  }
}

TEST(Model, S54OnlyTheLastLayerIsNormalised) {
  EncodeOptions options;
  options.layers = {kLayers - 1, -1};
  options.per_residue = true;
  const std::string sequence = "M";
  const std::vector<float> rows = model().encode({&sequence, 1}, options).per_residue[0];  // [2 layers, 1, C]
  const auto variance = [&](std::size_t layer) {
    double sum = 0, squares = 0;
    for (std::size_t c = 0; c < kWidth; ++c) {
      const double value = rows[layer * kWidth + c];
      sum += value;
      squares += value * value;
    }
    return squares / kWidth - sum * sum / kWidth / kWidth;
  };
  EXPECT_LT(variance(0), 0.5);          // weights of deviation 0.02 leave the residual stream small
  EXPECT_NEAR(variance(1), 1.0, 0.05);  // the final norm's weights are one
}

TEST(Model, LayersCountFromBothEnds) {
  const Esm2Config& config = model().impl()->engine->config();
  EXPECT_THAT(resolve_layers({-1}, config), ElementsAre(kLayers));
  EXPECT_THAT(resolve_layers({-7, 2, 0, 2}, config), ElementsAre(0, 2));
  EXPECT_THAT([&] { resolve_layers({7}, config); },
              Throws<Error>(Property(&Error::what, HasSubstr("expected a layer from 0 to 6"))));
  EXPECT_THROW(resolve_layers({-8}, config), Error);
  EXPECT_THROW(resolve_layers({}, config), Error);
}

TEST(Model, PooledRowsComeFromTheResidues) {
  const std::string sequence = "MKT";
  EncodeOptions options;
  options.pooling = {Pooling::mean, Pooling::max};
  options.per_residue = true;
  const Embeddings out = model().encode({&sequence, 1}, options);
  ASSERT_EQ(out.pooled.size(), 2u * kWidth);
  ASSERT_EQ(out.per_residue[0].size(), 3u * kWidth);
  const float* rows = out.per_residue[0].data();
  for (std::size_t c = 0; c < kWidth; ++c) {
    const float a = rows[c], b = rows[kWidth + c], d = rows[2 * kWidth + c];
    EXPECT_NEAR(out.pooled[c], (a + b + d) / 3, 1e-6);
    EXPECT_EQ(out.pooled[kWidth + c], std::max({a, b, d}));
  }
}

TEST(Model, ALetterThatCannotBeReadNamesItsSequence) {
  const std::vector<std::string> sequences{"MKTL", "MK:L"};
  EXPECT_THAT([&] { model().encode(sequences); }, Throws<Error>(Property(&Error::what, HasSubstr("sequence 2"))));
  EXPECT_THROW(model().logits("MK|L"), Error);
}

TEST(Model, S66LogitsHaveBeginAndEndTokens) {
  EXPECT_EQ(model().logits("MKTL").size(), 6u * 33);
  EXPECT_EQ(model().logits("").size(), 2u * 33);
}

TEST(Model, S63SoftmaxRunsOverTheWholeVocabulary) {
  const std::vector<float> logits = model().logits("MKTL");
  double sum = 0;
  for (std::int32_t token = 0; token < 33; ++token) {
    sum += std::exp(log_probability({logits.data() + 33, 33}, token));
  }
  EXPECT_NEAR(sum, 1.0, 1e-12);
}

TEST(Model, S57EachResidueIsScoredWithOnlyItselfMasked) {
  for (const std::string sequence : {"M", "MK", "MKTL"}) {
    const std::vector<double> scores = model().pseudo_log_likelihood(sequence);
    ASSERT_EQ(scores.size(), sequence.size());
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      const std::string masked = sequence.substr(0, i) + "<mask>" + sequence.substr(i + 1);
      const std::vector<float> logits = model().logits(masked);
      EXPECT_EQ(scores[i], log_probability({logits.data() + (i + 1) * 33, 33}, esm::token_of(sequence[i])));
    }
  }
  EXPECT_TRUE(model().pseudo_log_likelihood("").empty());
}

TEST(Model, PseudoLogLikelihoodDoesNotDependOnTheBudget) {
  Engine& engine = *model().impl()->engine;
  std::vector<std::uint8_t> residues;
  for (const char letter : protein(40, 1)) residues.push_back(static_cast<std::uint8_t>(esm::token_of(letter)));
  const std::vector<double> large = pseudo_log_likelihoods(engine, residues, 10000);
  EXPECT_EQ(pseudo_log_likelihoods(engine, residues, 1), large);
  EXPECT_EQ(pseudo_log_likelihoods(engine, residues, 100), large);
}

TEST(Model, ContactMapIsSymmetricAndInRange) {
  const std::string sequence = protein(50, 2);
  const std::vector<float> map = model().contacts(sequence);
  ASSERT_EQ(map.size(), 2500u);
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t j = 0; j < 50; ++j) {
      EXPECT_TRUE(map[i * 50 + j] >= 0 && map[i * 50 + j] <= 1);
      EXPECT_FLOAT_EQ(map[i * 50 + j], map[j * 50 + i]);
    }
  }
  EXPECT_TRUE(model().contacts("").empty());
}

TEST(Model, S41ContactMapsDoNotDependOnOtherProteins) {
  const std::vector<float> before = model().contacts("MKTLY");
  model().contacts(protein(50, 0));
  EXPECT_TRUE(same_bits(model().contacts("MKTLY"), before));
}

TEST(Model, S42WithoutContactHeadContactsAreRefused) {
  ModelOptions options;
  options.name = BIOWARP_SOURCE_DIR "/models/biowarp-esm2-8m";
  const Model loaded = Model::load(options);
  EXPECT_FALSE(loaded.info().contact_head);
  EXPECT_THAT([&] { loaded.contacts("MKTL"); },
              Throws<Error>(Property(&Error::what, HasSubstr("no trained contact head"))));
}

TEST(Model, BudgetAndLimitsFollowTheMemory) {
  const Engine& engine = *model().impl()->engine;
  EXPECT_GE(engine.default_token_budget(), 1);
  EXPECT_GE(engine.largest_sequence(), engine.default_token_budget());
}

TEST(Model, ABatchBeyondTheMemoryIsRefusedInWords) {
  Engine& engine = *model().impl()->engine;
  const auto nothing = [](Esm2Session&, Context&) { FAIL(); };
  EXPECT_THAT([&] { engine.with_session(std::int64_t{1} << 40, nothing); },
              Throws<Error>(Property(&Error::kind, ErrorKind::device)));
  EXPECT_EQ(model().logits("MK").size(), 4u * 33);  // and the engine lives on
}

TEST(Model, InfoDescribesWhatWasLoaded) {
  const ModelInfo& info = model().info();
  EXPECT_EQ(info.layers, kLayers);
  EXPECT_EQ(info.hidden, kWidth);
  EXPECT_EQ(info.threads, 2);
  EXPECT_TRUE(info.lm_head && info.contact_head);
  EXPECT_FALSE(info.demonstration);
  EXPECT_FALSE(info.hash.empty());
}

}  // namespace
}  // namespace biowarp
