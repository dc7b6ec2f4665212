// The forward pass against plain loops in f64, and its promises: bits, sessions, refusals.
#include "models/esm2.h"

#include <gtest/gtest.h>

#include "base/cpu.h"
#include "base/fail.h"
#include "models/testing/plain_esm2.h"

namespace biowarp {
namespace {

using testing_esm2::PlainEsm2;
using testing_esm2::RandomTensors;
using Residues = std::vector<std::uint8_t>;

Esm2Config config_of(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t feed_forward) {
  Esm2Config config;
  config.layers = layers;
  config.hidden = hidden;
  config.heads = heads;
  config.feed_forward = feed_forward;
  config.has_lm_head = config.has_contact_head = true;
  return config;
}

// head widths 16, 24, 32, 64, 128 and a small one; odd numbers of heads; feed-forward widths off every vector
const std::vector<Esm2Config> kConfigs{config_of(3, 48, 3, 100), config_of(2, 72, 3, 90),   config_of(2, 160, 5, 200),
                                       config_of(2, 64, 1, 257), config_of(2, 128, 1, 130), config_of(2, 18, 3, 7)};
const Esm2Config& kSmall = kConfigs[1];

// What this processor does well; the rest is refused (RefusesAPrecision...).
std::vector<Precision> precisions() {
  std::vector<Precision> result{Precision::f32};
  if (cpu_features().avx512_bf16) result.push_back(Precision::bf16);
  if (cpu_features().avx512_vnni) result.push_back(Precision::int8);
  return result;
}

// `every`: each so-manieth residue is <mask>; 0 for none.
Residues random_residues(std::int64_t length, std::uint32_t seed, int every = 0) {
  std::mt19937 generator(seed);
  Residues residues;
  for (std::int64_t i = 0; i < length; ++i) {
    residues.push_back(static_cast<std::uint8_t>(esm::kFirstLetter + generator() % 25));
    if (every != 0 && i % every == 1) residues.back() = static_cast<std::uint8_t>(esm::kMask);
  }
  return residues;
}

std::vector<Residues> some_sequences(const std::vector<std::int64_t>& lengths) {
  std::vector<Residues> sequences;
  for (const std::int64_t length : lengths)
    sequences.push_back(random_residues(length, static_cast<std::uint32_t>(length + 7), length % 3 == 0 ? 4 : 0));
  return sequences;
}

PackedBatch batch_of(const std::vector<Residues>& sequences) {
  PackedBatch batch;
  for (const Residues& residues : sequences) batch.add(residues, batch.sequences());
  return batch;
}

struct Output {
  std::vector<std::vector<float>> hidden;  // layers + 1 times [T, C]
  std::vector<float> logits;               // [T, V]
  bool operator==(const Output&) const = default;
};

// Workers with their context.
struct Workers {
  explicit Workers(int threads) : pool(threads), context(pool) {}
  ThreadPool pool;
  Context context;
};

// Everything a session gives for one batch, cut into sequences.
std::vector<Output> outputs_of(Esm2Session& session, const Esm2Config& config, const PackedBatch& batch) {
  std::vector<Output> outputs(static_cast<std::size_t>(batch.sequences()));
  std::vector<int> layers;
  for (int i = 0; i <= config.layers; ++i) layers.push_back(i);
  session.forward(batch, layers, [&](int layer, const float* hidden) {
    for (std::size_t n = 0; n < outputs.size(); ++n) {
      EXPECT_EQ(static_cast<std::size_t>(layer), outputs[n].hidden.size());
      outputs[n].hidden.emplace_back(hidden + batch.cu_lens[n] * config.hidden,
                                     hidden + batch.cu_lens[n + 1] * config.hidden);
    }
  });
  for (std::size_t n = 0; n < outputs.size(); ++n) {
    std::vector<std::int64_t> rows;
    for (std::int64_t row = batch.cu_lens[n]; row < batch.cu_lens[n + 1]; ++row) rows.push_back(row);
    outputs[n].logits.assign(rows.size() * static_cast<std::size_t>(config.vocabulary), NAN);
    session.logits(rows, outputs[n].logits.data());
  }
  return outputs;
}

std::vector<float> contacts_of(Esm2Session& session, const Residues& residues) {
  std::vector<float> map(residues.size() * residues.size(), NAN);
  session.contacts(batch_of({residues}), map.data());
  return map;
}

std::shared_ptr<const Esm2> build(const Esm2Config& config, Precision precision, bool untied = false) {
  Workers workers(2);
  return Esm2::build(workers.context, config, RandomTensors(config, untied), precision);
}

// In batches of at most `budget` tokens.
std::vector<Output> run(const std::shared_ptr<const Esm2>& model, const std::vector<Residues>& sequences,
                        std::int64_t budget, int threads) {
  Workers workers(threads);
  Esm2Session session(model, workers.context, budget);
  std::vector<Output> all;
  PackedBatch batch;
  const auto flush = [&] {
    if (batch.sequences() == 0) return;
    for (Output& output : outputs_of(session, model->config(), batch)) all.push_back(std::move(output));
    batch.clear();
  };
  for (const Residues& residues : sequences) {
    if (batch.rows() + static_cast<std::int64_t>(residues.size()) + 2 > budget) flush();
    batch.add(residues, 0);
  }
  flush();
  return all;
}

std::vector<Output> run_alone(const std::shared_ptr<const Esm2>& model, const std::vector<Residues>& sequences) {
  std::vector<Output> all;
  for (const Residues& residues : sequences)
    all.push_back(run(model, {residues}, static_cast<std::int64_t>(residues.size()) + 2, 1).front());
  return all;
}

double cosine(std::span<const double> a, std::span<const float> b) {
  double dot = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += static_cast<double>(b[i]) * b[i];
  }
  return dot / std::sqrt(aa * bb);
}

// f32 by the one rule of tolerance, the others by the angle to the f64 values.
std::string objection(Precision precision, std::span<const double> expected, std::span<const float> given,
                      std::span<const float> naive) {
  if (expected.size() != given.size()) return "sizes differ";
  if (precision == Precision::f32)
    return ::biowarp::testing::objection(expected, given, naive, ::biowarp::testing::largest_of(expected) * 1e-6);
  const double angle = cosine(expected, given);
  return angle >= (precision == Precision::bf16 ? 0.999 : 0.99) ? "" : fmt::format("cosine {}", angle);
}

void expect_plain_results(const Esm2Config& config, bool untied, const std::vector<Residues>& sequences) {
  const RandomTensors params(config, untied);
  for (const Precision precision : precisions()) {
    const auto model = build(config, precision, untied);
    const std::vector<Output> outputs = run(model, sequences, 400, 2);
    Workers workers(2);
    Esm2Session session(model, workers.context, 400);
    for (std::size_t n = 0; n < sequences.size(); ++n) {
      const auto tokens = batch_of({sequences[n]}).tokens;
      const PlainEsm2<double> exact(config, params, tokens);
      const PlainEsm2<float> naive(config, params, tokens);
      const std::string where =
          fmt::format("{} C {} H {} L {}", name_of(precision), config.hidden, config.heads, sequences[n].size());
      for (std::size_t i = 0; i < exact.hidden.size(); ++i) {
        EXPECT_EQ(objection(precision, exact.hidden[i], outputs[n].hidden[i], naive.hidden[i]), "")
            << where << " hidden " << i;
      }
      EXPECT_EQ(objection(precision, exact.logits, outputs[n].logits, naive.logits), "") << where;
      if (sequences[n].empty()) continue;
      EXPECT_EQ(objection(precision, exact.contacts, contacts_of(session, sequences[n]), naive.contacts), "") << where;
    }
  }
}

TEST(Esm2, AgreesWithPlainLoops) {
  for (const Esm2Config& config : kConfigs)
    expect_plain_results(config, false, some_sequences({0, 1, 14, 30, 63, 130}));
}

TEST(Esm2, FollowsAnUntiedDecoder) {
  expect_plain_results(kSmall, true, some_sequences({20}));
  const auto sequences = some_sequences({20});
  EXPECT_NE(run_alone(build(kSmall, Precision::f32, true), sequences)[0].logits,
            run_alone(build(kSmall, Precision::f32, false), sequences)[0].logits);
}

TEST(Esm2, FollowsFrequenciesOfTheFile) {
  Esm2Config config = kSmall;
  for (int j = 0; j < 12; ++j) config.inv_freq.push_back(std::pow(500.0f, -static_cast<float>(j) / 12.0f));
  expect_plain_results(config, false, some_sequences({40}));
  const auto sequences = some_sequences({40});
  EXPECT_NE(run_alone(build(config, Precision::f32), sequences)[0].logits,
            run_alone(build(kSmall, Precision::f32), sequences)[0].logits);
}

TEST(Esm2, TanhGeluIsAnotherFunctionButCloseBy) {
  Esm2Config config = kSmall;
  config.tanh_gelu = true;
  expect_plain_results(config, false, some_sequences({40}));
  const auto sequences = some_sequences({40});
  const auto tanh_form = run_alone(build(config, Precision::f32), sequences)[0].hidden.back();
  const auto exact = run_alone(build(kSmall, Precision::f32), sequences)[0].hidden.back();
  const ::biowarp::testing::Error difference =
      ::biowarp::testing::error_of(std::vector<double>(exact.begin(), exact.end()), tanh_form);
  EXPECT_GT(difference.largest, 0);
  EXPECT_LT(difference.largest, 1e-2);
}

TEST(Esm2, S38EmbeddingsAreScaledAndMaskRowsAreZero) {
  const RandomTensors params(kSmall);
  Residues residues = random_residues(18, 3);
  for (const int masks : {0, 5}) {
    for (int i = 0; i < masks; ++i) residues[static_cast<std::size_t>(3 * i)] = static_cast<std::uint8_t>(esm::kMask);
    const auto tokens = batch_of({residues}).tokens;
    const Output output = run_alone(build(kSmall, Precision::f32), {residues})[0];
    const float scale = 0.88f / (1.0f - static_cast<float>(masks) / 20.0f);
    for (std::size_t i = 0; i < output.hidden[0].size(); ++i) {
      const std::int32_t token = tokens[i / 72];
      const float value = params.at("embed.weight")[static_cast<std::size_t>(token) * 72 + i % 72];
      ASSERT_FLOAT_EQ(output.hidden[0][i], token == esm::kMask ? 0.0f : value * scale) << "token " << i / 72;
    }
  }
}

TEST(Esm2, WithoutTokenDropoutNothingIsScaled) {
  Esm2Config config = kSmall;
  config.token_dropout = false;
  expect_plain_results(config, false, {random_residues(18, 3, 4)});
}

// The last hidden state, and no other, is behind the final norm.
TEST(Esm2, S54OnlyTheLastHiddenStateIsNormed) {
  const RandomTensors params(kSmall);
  const Output output = run_alone(build(kSmall, Precision::f32), some_sequences({25}))[0];
  for (std::size_t layer = 0; layer < output.hidden.size(); ++layer) {
    double worst = 0;
    for (std::size_t row = 0; row < output.hidden[layer].size(); row += 72) {
      double squares = 0;
      for (std::size_t c = 0; c < 72; ++c) {
        const double unit = (output.hidden[layer][row + c] - params.at("final_norm.bias")[c]) /
                            static_cast<double>(params.at("final_norm.weight")[c]);
        squares += unit * unit / 72;
      }
      worst = std::max(worst, std::abs(squares - 1));
    }
    if (layer + 1 == output.hidden.size()) {
      EXPECT_LT(worst, 1e-4);
    } else {
      EXPECT_GT(worst, 1e-2) << "layer " << layer;
    }
  }
}

TEST(Esm2, HiddenStatesComeInOrderAndOnlyWhenAsked) {
  const auto model = build(kConfigs[0], Precision::f32);
  Workers workers(1);
  Esm2Session session(model, workers.context, 20);
  const PackedBatch batch = batch_of(some_sequences({9}));
  const auto given = [&](std::vector<int> layers) {
    std::vector<int> seen;
    session.forward(batch, layers, [&](int layer, const float*) { seen.push_back(layer); });
    return seen;
  };
  EXPECT_EQ(given({}), std::vector<int>());
  EXPECT_EQ(given({1, 3}), (std::vector<int>{1, 3}));
  EXPECT_EQ(given({0, 2}), (std::vector<int>{0, 2}));
}

TEST(Esm2Bits, DoNotDependOnBatchMatesBudgetOrThreads) {
  const auto brief = some_sequences({38, 0, 12, 1, 30, 31, 32, 33, 5, 17, 38, 9});
  const auto longer = some_sequences({298, 3, 127, 128, 129, 64, 62, 1, 200});
  for (const Esm2Config& config : {kConfigs[1], kConfigs[3], kConfigs[5]}) {
    for (const Precision precision : precisions()) {
      const auto model = build(config, precision);
      const auto brief_alone = run_alone(model, brief), longer_alone = run_alone(model, longer);
      for (const int threads : {1, 2, 3}) {
        EXPECT_EQ(brief_alone, run(model, brief, 40, threads)) << name_of(precision) << " threads " << threads;
        for (const std::int64_t budget : {300, 5000}) {
          EXPECT_EQ(brief_alone, run(model, brief, budget, threads)) << name_of(precision) << " threads " << threads;
          EXPECT_EQ(longer_alone, run(model, longer, budget, threads)) << name_of(precision) << " threads " << threads;
        }
      }
    }
  }
}

TEST(Esm2Bits, LogitsOfSomeRowsAreThoseOfAllRows) {
  const auto model = build(kSmall, Precision::f32);
  Workers workers(2);
  Esm2Session session(model, workers.context, 400);
  const PackedBatch batch = batch_of(some_sequences({120, 77, 150}));
  session.forward(batch, {}, {});
  std::vector<std::int64_t> rows, some{5, 5, 352, 0, 17, 128, 127};
  for (std::int64_t row = 0; row < batch.rows(); ++row) rows.push_back(row);
  for (std::int64_t row = 352; row > 10; row -= 2) some.push_back(row);
  std::vector<float> all(rows.size() * 33, NAN), part(some.size() * 33 + 1, NAN);
  session.logits(rows, all.data());
  session.logits(some, part.data());
  for (std::size_t i = 0; i < some.size() * 33; ++i)
    ASSERT_EQ(part[i], all[static_cast<std::size_t>(some[i / 33]) * 33 + i % 33]) << "row " << some[i / 33];
  EXPECT_TRUE(std::isnan(part.back())) << "nothing behind the last row";
}

TEST(Esm2Bits, ContactsDoNotDependOnThreadsOrBudgetAndAreSymmetric) {
  for (const Precision precision : precisions()) {
    const auto model = build(kSmall, precision);
    for (const std::int64_t length : {1, 2, 17, 62, 131}) {
      const Residues residues = random_residues(length, 5);
      std::vector<float> first;
      for (const int threads : {1, 2, 3}) {
        Workers workers(threads);
        Esm2Session session(model, workers.context, length + 2 + 100 * (threads - 1));
        const auto map = contacts_of(session, residues);
        if (first.empty()) first = map;
        EXPECT_EQ(map, first) << name_of(precision) << " L " << length << " threads " << threads;
      }
      for (std::int64_t i = 0; i < length * length; ++i)
        ASSERT_NEAR(first[i], first[i % length * length + i / length], 1e-6f);
    }
  }
}

// A read of working memory that was never written would show.
TEST(Esm2Bits, PoisonedMemoryChangesNothing) {
  const auto sequences = some_sequences({38, 0, 77, 1, 31});
  for (const Precision precision : precisions()) {
    const auto model = build(kSmall, precision);
    const auto expected = run(model, sequences, 300, 2);
    setenv("BIOWARP_POISON", "1", 1);
    const auto poisoned = run(model, sequences, 300, 2);
    Workers workers(2);
    Esm2Session session(model, workers.context, 300);
    const auto map = contacts_of(session, sequences[2]);
    unsetenv("BIOWARP_POISON");
    EXPECT_EQ(expected, poisoned) << name_of(precision);
    EXPECT_EQ(map, contacts_of(session, sequences[2]));
  }
}

class Esm2Sessions : public ::testing::Test {
 protected:
  // Two sessions take turns; the second is planned after the first and needs less, or more.
  void expect_no_interference(Context& first, Context& second, std::int64_t second_budget) {
    const auto sequences = some_sequences({100, 38, 60});
    const PackedBatch wide = batch_of(sequences), narrow = batch_of({sequences[1]});
    for (const Precision precision : precisions()) {
      const auto model = build(kSmall, precision);
      const auto expected = run_alone(model, sequences);
      Esm2Session a(model, first, wide.rows()), b(model, second, second_budget);
      for (int turn = 0; turn < 2; ++turn) {
        EXPECT_EQ(outputs_of(a, kSmall, wide), expected) << name_of(precision);
        EXPECT_EQ(outputs_of(b, kSmall, narrow)[0], expected[1]) << name_of(precision);
      }
      a.forward(wide, {}, {});
      b.forward(narrow, {}, {});
      std::vector<float> logits(33, NAN);
      a.logits(std::vector<std::int64_t>{7}, logits.data());
      EXPECT_TRUE(std::equal(logits.begin(), logits.end(), expected[0].logits.begin() + 7 * 33));
    }
  }
};

TEST_F(Esm2Sessions, ShareAModel) {
  Workers one(2), other(1);
  expect_no_interference(one.context, other.context, 40);
}

TEST_F(Esm2Sessions, ShareAContext) {
  for (const std::int64_t budget : {40, 5000}) {
    Workers workers(2);
    expect_no_interference(workers.context, workers.context, budget);
  }
}

TEST_F(Esm2Sessions, RefuseABatchBeyondTheirPlan) {
  Workers workers(1);
  Esm2Session session(build(kSmall, Precision::f32), workers.context, 40);
  EXPECT_EQ(session.max_tokens(), 40);
  EXPECT_THROW(session.forward(batch_of(some_sequences({39})), {}, {}), Error);
}

TEST_F(Esm2Sessions, EstimateMemoryWithTheirHead) {
  Esm2Config headless = kSmall;
  headless.has_lm_head = false;
  const auto memory = [](const Esm2Config& config, std::int64_t tokens, int workers) {
    return Esm2Session::memory_for(config, Precision::f32, tokens, workers);
  };
  EXPECT_GT(memory(kSmall, 100, 1), memory(headless, 100, 1));
  EXPECT_GT(memory(kSmall, 200, 1), memory(kSmall, 100, 1));
  EXPECT_GT(memory(kSmall, 100, 2), memory(kSmall, 100, 1));
}

std::string refusal(const Esm2Config& config, Precision precision) {
  try {
    build(config, precision);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Esm2Refuses, SizesThatCannotWork) {
  const auto expect_words = [](const Esm2Config& config, const std::string& words) {
    const std::string said = refusal(config, Precision::f32);
    EXPECT_NE(said.find(words), std::string::npos) << "said: " << said;
    EXPECT_NE(said.find(fmt::format("hidden {}, heads {}", config.hidden, config.heads)), std::string::npos) << said;
  };
  expect_words(config_of(2, 45, 3, 60), "even head width");
  expect_words(config_of(2, 50, 3, 60), "multiple of the number of heads");
  expect_words(config_of(2, 260, 2, 60), "at most 128");
  expect_words(config_of(2, 48, 0, 60), "positive sizes");
  expect_words(config_of(0, 48, 3, 60), "positive sizes");
  EXPECT_EQ(refusal(kSmall, Precision::f32), "");
}

TEST(Esm2Refuses, APrecisionThatTheProcessorLacks) {
  const auto available = precisions();
  for (const Precision precision : {Precision::bf16, Precision::int8}) {
    const std::string said = refusal(kSmall, precision);
    if (std::find(available.begin(), available.end(), precision) != available.end()) {
      EXPECT_EQ(said, "");
    } else {
      EXPECT_NE(said.find(fmt::format("expected a processor for {}", name_of(precision))), std::string::npos) << said;
      EXPECT_NE(said.find("use f32"), std::string::npos) << said;
    }
  }
}

}  // namespace
}  // namespace biowarp
