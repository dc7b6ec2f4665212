// The forward pass against Hugging Face in float64 (tests/golden/make_checkpoints.py), for every head width of the
// public sizes: hidden states of every layer, logits and contacts. Rule: root mean square error <= twice that of
// Hugging Face in the same precision, plus a rounding floor.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "base/cpu.h"
#include "io/convert.h"
#include "models/esm2.h"
#include "models/testing/checkpoints.h"

namespace biowarp {
namespace {

constexpr int kSequences = 5;

struct GoldenCase {
  int head_width;
  Precision precision;
};

void PrintTo(const GoldenCase& c, std::ostream* out) { *out << c.head_width << name_of(c.precision); }

// One golden tensor with the error that Hugging Face makes in the precision of the test.
struct Golden {
  std::vector<float> values;
  double error;
};

class Values {
 public:
  Values(int head_width, Precision precision)
      : precision_(precision),
        file_(open_weight_file(BIOWARP_SOURCE_DIR "/tests/golden/values/" + std::to_string(head_width) +
                               ".safetensors")) {}

  std::vector<std::int32_t> tokens(int sequence) const {
    const TensorInfo& tensor = *file_.find(std::to_string(sequence) + ".tokens");
    std::vector<std::int32_t> result(static_cast<std::size_t>(tensor.elements()));
    std::memcpy(result.data(), tensor.data, result.size() * sizeof(std::int32_t));
    return result;
  }
  Golden get(int sequence, const std::string& what) const {
    const std::string name = std::to_string(sequence) + "." + what;
    return {floats(name), floats(name + "." + std::string(name_of(precision_)) + "_error")[0]};
  }

 private:
  std::vector<float> floats(const std::string& name) const {
    const TensorInfo* tensor = file_.find(name);
    if (!tensor) throw std::runtime_error("no golden " + name);
    std::vector<float> result(static_cast<std::size_t>(tensor->elements()));
    convert_to_f32(tensor->dtype, tensor->data, tensor->elements(), result.data());
    return result;
  }

  Precision precision_;
  WeightFile file_;
};

// Written so that a NaN fails.
void expect_close(const float* ours, const Golden& golden, Precision precision, const std::string& what) {
  double sum = 0, scale = 0;
  for (std::size_t i = 0; i < golden.values.size(); ++i) {
    const double difference = static_cast<double>(ours[i]) - golden.values[i];
    sum += difference * difference;
    scale += static_cast<double>(golden.values[i]) * golden.values[i];
  }
  const auto count = static_cast<double>(golden.values.size());
  const double error = std::sqrt(sum / count), floor = std::sqrt(scale / count) * 0x1p-23;
  EXPECT_TRUE(error <= 2 * golden.error + floor)
      << what << " " << name_of(precision) << ": error " << error << ", Hugging Face " << golden.error;
}

class Esm2Golden : public testing::TestWithParam<GoldenCase> {
 protected:
  void SetUp() override {
    if (GetParam().precision == Precision::bf16 && !cpu_features().avx512_bf16) GTEST_SKIP() << "no bf16 here";
    opened_ =
        testing_checkpoints::open(BIOWARP_SOURCE_DIR "/tests/golden/values/" + std::to_string(GetParam().head_width));
    model_ = Esm2::build(context_, opened_.config, *opened_.params, GetParam().precision);
  }

  // Tokens without the begin and end token, as PackedBatch takes them.
  static void add(PackedBatch& batch, const std::vector<std::int32_t>& tokens, std::int64_t row) {
    const std::vector<std::uint8_t> residues(tokens.begin() + 1, tokens.end() - 1);
    batch.add(residues, row);
  }

  ThreadPool pool_{2};
  Context context_{pool_};
  OpenedModel opened_;
  std::shared_ptr<const Esm2> model_;
};

TEST_P(Esm2Golden, HiddenStatesAndLogitsOfOnePackedBatch) {
  const Values golden(GetParam().head_width, GetParam().precision);
  PackedBatch batch;
  for (int i = 0; i < kSequences; ++i) add(batch, golden.tokens(i), i);
  Esm2Session session(model_, context_, batch.rows());
  std::vector<int> layers;
  for (int i = 0; i <= opened_.config.layers; ++i) layers.push_back(i);
  int seen = 0;
  session.forward(batch, layers, [&](int layer, const float* hidden) {
    ++seen;
    for (int i = 0; i < kSequences; ++i) {
      const std::string name = "hidden." + std::to_string(layer);
      expect_close(hidden + batch.cu_lens[static_cast<std::size_t>(i)] * opened_.config.hidden, golden.get(i, name),
                   GetParam().precision, name + " of sequence " + std::to_string(i));
    }
  });
  EXPECT_EQ(seen, opened_.config.layers + 1);

  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < batch.cu_lens.back(); ++row) rows.push_back(row);
  std::vector<float> logits(rows.size() * static_cast<std::size_t>(opened_.config.vocabulary), NAN);
  session.logits(rows, logits.data());
  for (int i = 0; i < kSequences; ++i) {
    expect_close(logits.data() + batch.cu_lens[static_cast<std::size_t>(i)] * opened_.config.vocabulary,
                 golden.get(i, "logits"), GetParam().precision, "logits of sequence " + std::to_string(i));
  }
}

TEST_P(Esm2Golden, Contacts) {
  const Values golden(GetParam().head_width, GetParam().precision);
  for (int i = 0; i < kSequences; ++i) {
    const auto tokens = golden.tokens(i);
    PackedBatch batch;
    add(batch, tokens, 0);
    Esm2Session session(model_, context_, batch.rows());
    const std::size_t length = tokens.size() - 2;
    std::vector<float> contacts(length * length, NAN);
    session.contacts(batch, contacts.data());
    expect_close(contacts.data(), golden.get(i, "contacts"), GetParam().precision,
                 "contacts of sequence " + std::to_string(i));
  }
}

std::vector<GoldenCase> cases() {
  std::vector<GoldenCase> result;
  for (const int width : {16, 24, 32, 64, 128}) {
    for (const Precision precision : {Precision::f32, Precision::bf16}) result.push_back({width, precision});
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(HeadWidths, Esm2Golden, testing::ValuesIn(cases()));

}  // namespace
}  // namespace biowarp
