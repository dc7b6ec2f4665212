// S77: PEFT adapters merged at load equal what peft's merge_and_unload makes.
#include "models/lora.h"

#include <gmock/gmock.h>

#include <cmath>

#include "io/file.h"
#include "models/testing/checkpoints.h"

namespace biowarp {
namespace {

using namespace testing_checkpoints;
using testing::Contains;
using testing::HasSubstr;

void expect_merged(const OpenedModel& model, const OpenedModel& merged) {
  double changed = 0;
  const OpenedModel base = open(golden("hf_safetensors"));
  for (const ParamSpec& spec : esm2_params(merged.config)) {
    if (!spec.required) continue;
    const auto ours = values(model, spec), theirs = values(merged, spec), before = values(base, spec);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      ASSERT_NEAR(ours[i], theirs[i], 2e-7 * (1 + std::abs(theirs[i]))) << spec.name << " " << i;
      changed += std::abs(ours[i] - before[i]);
    }
  }
  EXPECT_GT(changed, 1.0) << "the adapter should have changed something";
}

class PeftAdapter : public testing::TestWithParam<const char*> {};

TEST_P(PeftAdapter, S77MergesLikePeft) {
  const std::string name = GetParam();
  const OpenedModel merged = open(golden(name + "_merged"));
  const OpenedModel given = open_model({golden("hf_safetensors"), "", golden(name), false});
  const OpenedModel by_folder = open(golden(name));  // its config names the base
  expect_merged(given, merged);
  expect_merged(by_folder, merged);
  EXPECT_EQ(by_folder.name, name);
  EXPECT_EQ(given.params->hash(), by_folder.params->hash());
  EXPECT_NE(given.params->hash(), open(golden("hf_safetensors")).params->hash());
  EXPECT_THAT(given.notes, Contains(HasSubstr("matrices changed")));
}

INSTANTIATE_TEST_SUITE_P(Kinds, PeftAdapter, testing::Values("lora", "rslora", "lora_bias"));

TEST(Lora, S77AdaptersFitBasesOfOtherNamings) {
  const OpenedModel merged = open(golden("lora_merged"));
  expect_merged(open_model({golden("fair_esm"), "", golden("lora"), false}), merged);
  expect_merged(open_model({golden("hf_views"), "", golden("lora"), false}), merged);
  EXPECT_THAT(error_of({golden("nv_new_33"), "", golden("lora"), false}),
              HasSubstr("the model does not hold this matrix on its own"));
}

TEST(Lora, S77HeadsThatPeftSavedAreLeftOut) {
  const OpenedModel model = open_model({golden("hf_safetensors"), "", golden("lora_classifier"), false});
  EXPECT_THAT(model.notes, Contains(HasSubstr("task head of the adapter ignored")));
  EXPECT_TRUE(model.config.has_lm_head);
}

// A copy of the golden adapter with other settings or tensors.
class EditedAdapter {
 public:
  EditedAdapter() : tensors(tensors_of(golden("lora/adapter_model.safetensors"))) {}

  std::vector<OwnedTensor> tensors;
  std::string settings = R"("r": 4, "lora_alpha": 12)";
  std::string type = "LORA";

  OpenModelOptions write() const {
    save(folder_ / "adapter_model.safetensors", tensors);
    write_text(folder_ / "adapter_config.json", "{\"peft_type\": \"" + type + "\", " + settings + "}");
    return {golden("hf_safetensors"), "", folder_.path(), false};
  }
  std::string error() const { return error_of(write()); }

 private:
  TemporaryFolder folder_;
};

TEST(Lora, S77UnknownTargetsAreRefusedByName) {
  EditedAdapter adapter;
  adapter.tensors.push_back(zeros("base_model.model.esm.encoder.layer.0.adapter.down.lora_A.weight", {4, 16}));
  adapter.tensors.push_back(zeros("base_model.model.esm.encoder.layer.7.output.dense.lora_A.weight", {4, 16}));
  adapter.tensors.push_back(zeros("base_model.model.esm.encoder.layer.7.output.dense.lora_B.weight", {4, 4}));
  const std::string error = adapter.error();
  EXPECT_THAT(error, HasSubstr("esm.encoder.layer.0.adapter.down.lora_A.weight: ESM-2 has no such module"));
  EXPECT_THAT(error, HasSubstr("esm.encoder.layer.7.output.dense: the model does not hold"));
}

TEST(Lora, MatricesThatDoNotFitAreRefused) {
  EditedAdapter adapter;
  const std::string query = "base_model.model.esm.encoder.layer.0.attention.self.query.lora_";
  named(adapter.tensors, query + "A.weight") = zeros(query + "A.weight", {4, 17});
  EXPECT_THAT(adapter.error(), HasSubstr("A [4, 17] and B [16, 4] do not make [16, 16]"));
  std::erase_if(adapter.tensors, [&](const OwnedTensor& tensor) { return tensor.plan.name == query + "A.weight"; });
  EXPECT_THAT(adapter.error(), HasSubstr("needs two matrices"));
}

TEST(Lora, OtherKindsOfAdaptersAreRefused) {
  EditedAdapter adapter;
  EXPECT_EQ(adapter.error(), "");
  adapter.type = "IA3";
  EXPECT_THAT(adapter.error(), HasSubstr("peft_type is \"IA3\""));
  adapter.type = "LORA";
  adapter.settings = R"("lora_alpha": 12, "use_dora": true)";
  EXPECT_THAT(adapter.error(), HasSubstr("use_dora is set"));
  adapter.settings = R"("lora_alpha": 12, "init_lora_weights": "pissa_niter_4")";
  EXPECT_THAT(adapter.error(), HasSubstr("changes the base weights"));
  adapter.settings = R"("r": 4)";
  EXPECT_THAT(adapter.error(), HasSubstr("no lora_alpha"));
  adapter.settings = R"("lora_alpha": 12, "alpha_pattern": {".*query": 3})";
  EXPECT_THAT(adapter.error(), HasSubstr("regular expression"));
}

TEST(Lora, AlphaPatternsScaleTheirModulesOnly) {
  EditedAdapter adapter;
  const OpenedModel plain = open_model(adapter.write());
  adapter.settings = R"("lora_alpha": 12, "alpha_pattern": {"layer.0.output.dense": 24})";
  const OpenedModel doubled = open_model(adapter.write());
  const OpenedModel base = open(golden("hf_safetensors"));
  for (const ParamSpec& spec : esm2_params(base.config)) {
    if (!base.params->has(spec.name)) continue;
    const auto a = values(plain, spec), b = values(doubled, spec), w = values(base, spec);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const float factor = spec.name == "layer.0.fc2.weight" ? 2.0f : 1.0f;
      ASSERT_NEAR(b[i] - w[i], factor * (a[i] - w[i]), 1e-6) << spec.name;
    }
  }
}

// An adapted embedding leaves the tied decoder as it was, as peft does.
TEST(Lora, AnAdaptedEmbeddingUntiesTheDecoder) {
  EditedAdapter adapter;
  const std::string module = "base_model.model.esm.embeddings.word_embeddings.lora_embedding_";
  OwnedTensor a = zeros(module + "A", {1, 33}), b = zeros(module + "B", {16, 1});
  const float three = 3.0f, half = 0.5f;
  a.bytes.replace(4 * 5, 4, reinterpret_cast<const char*>(&three), 4);  // token 5
  b.bytes.replace(4 * 2, 4, reinterpret_cast<const char*>(&half), 4);   // column 2
  adapter.tensors = {a, b};
  adapter.settings = R"("lora_alpha": 4)";
  const OpenedModel model = open_model(adapter.write()), base = open(golden("hf_safetensors"));
  ASSERT_TRUE(model.params->has("lm_head.decoder.weight"));
  std::vector<float> before(33 * 16), embed(33 * 16), decoder(33 * 16);
  base.params->read("embed.weight", 0, 33, before.data());
  model.params->read("embed.weight", 0, 33, embed.data());
  model.params->read("lm_head.decoder.weight", 0, 33, decoder.data());
  EXPECT_EQ(decoder, before);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_FLOAT_EQ(embed[i], before[i] + (i == 5 * 16 + 2 ? 4 * 3.0f * 0.5f : 0.0f));
  }
}

TEST(Lora, ABaseThatIsNowhereIsNamed) {
  EditedAdapter adapter;
  adapter.settings = R"("lora_alpha": 12, "base_model_name_or_path": "someone/esm2_that_is_not_cached")";
  EXPECT_THAT(error_of(adapter.write().adapter), HasSubstr("biowarp pull someone/esm2_that_is_not_cached"));
  adapter.settings = R"("lora_alpha": 12)";
  EXPECT_THAT(error_of(adapter.write().adapter), HasSubstr("no base_model_name_or_path"));
}

}  // namespace
}  // namespace biowarp
