// Every naming that people have loads to the same parameters (S69, S70).
#include "models/naming.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/half.h"
#include "models/testing/checkpoints.h"

namespace biowarp {
namespace {

using namespace testing_checkpoints;
using testing::HasSubstr;

struct NamingCase {
  const char* folder;
  const char* format;
  bool lm_head, contact_head;
};

void PrintTo(const NamingCase& naming, std::ostream* out) { *out << naming.folder; }

class EveryNaming : public testing::TestWithParam<NamingCase> {};

TEST_P(EveryNaming, LoadsToTheSameParameters) {
  const OpenedModel reference = open(golden("hf_safetensors"));
  const OpenedModel model = open(golden(GetParam().folder));
  EXPECT_EQ(model.format, GetParam().format);
  EXPECT_EQ(model.config.layers, 2);
  EXPECT_EQ(model.config.hidden, 16);
  EXPECT_EQ(model.config.heads, 2);
  EXPECT_EQ(model.config.feed_forward, 20);
  EXPECT_EQ(model.config.vocabulary, 33);
  EXPECT_EQ(model.config.layer_norm_eps, 1e-5f);
  EXPECT_TRUE(model.config.token_dropout);
  EXPECT_EQ(model.config.has_lm_head, GetParam().lm_head);
  EXPECT_EQ(model.config.has_contact_head, GetParam().contact_head);
  EXPECT_FALSE(model.params->has("lm_head.decoder.weight")) << "the tied decoder should be left out";
  int compared = 0;
  for (const ParamSpec& spec : esm2_params(model.config)) {
    if (!spec.required) continue;
    ASSERT_TRUE(model.params->has(spec.name)) << spec.name;
    ASSERT_EQ(values(model, spec), values(reference, spec)) << spec.name;
    ++compared;
  }
  EXPECT_GE(compared, 2 * 12 + 3);
}

INSTANTIATE_TEST_SUITE_P(
    Checkpoints, EveryNaming,
    testing::Values(NamingCase{"hf_save_pretrained", "hf", true, true}, NamingCase{"hf_extras", "hf", true, true},
                    NamingCase{"hf_bin", "hf", true, true}, NamingCase{"hf_sharded_safetensors", "hf", true, true},
                    NamingCase{"hf_sharded_bin", "hf", true, true}, NamingCase{"hf_views", "hf", true, true},
                    NamingCase{"hf_lightning", "hf", true, true}, NamingCase{"hf_esm_model", "hf", false, false},
                    NamingCase{"nv_old_64", "nv_esm", true, false}, NamingCase{"nv_new_33", "nv_esm", true, false},
                    NamingCase{"nv_plain_qkv", "nv_esm", true, false},
                    NamingCase{"nv_three_parts", "nv_esm", true, false}, NamingCase{"fair_esm", "fair-esm", true, true},
                    NamingCase{"fair_esm/esm2_tiny.pt", "fair-esm", true, true},
                    NamingCase{"fair_state_dict", "state_dict", true, true}, NamingCase{"esme", "esme", true, false},
                    NamingCase{"state_dict_rotary", "state_dict", true, false},
                    NamingCase{"state_dict_contact", "state_dict", true, true}));

// Halves are exact: what is read is the stored number, to the bit.
TEST(Naming, S70HalfPrecisionAndMixedFilesLoadExactly) {
  const OpenedModel reference = open(golden("hf_safetensors"));
  const OpenedModel f16 = open(golden("hf_f16")), bf16 = open(golden("hf_bf16")), mixed = open(golden("hf_mixed"));
  for (const ParamSpec& spec : esm2_params(reference.config)) {
    if (!spec.required) continue;
    EXPECT_EQ(f16.params->stored_dtype(spec.name), DType::f16);
    EXPECT_EQ(bf16.params->stored_dtype(spec.name), DType::bf16);
    const auto exact = values(reference, spec), half = values(f16, spec), brain = values(bf16, spec);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      ASSERT_EQ(half[i], f16_to_f32(f32_to_f16(exact[i]))) << spec.name;
      ASSERT_EQ(brain[i], bf16_to_f32(f32_to_bf16(exact[i]))) << spec.name;
    }
  }
  EXPECT_EQ(mixed.params->stored_dtype("layer.0.fc1.weight"), DType::f16);
  EXPECT_EQ(mixed.params->stored_dtype("layer.0.fc2.weight"), DType::f32);
  EXPECT_EQ(mixed.params->stored_dtype("layer.0.qkv.weight"), DType::f32);  // bf16 queries, f32 keys
}

// Rows of Q, K and V read one at a time, across heads, equal the whole.
TEST(Naming, ReadsAnyRangeOfRows) {
  for (const char* folder : {"hf_safetensors", "nv_plain_qkv", "nv_new_33", "hf_views"}) {
    const OpenedModel model = open(golden(folder));
    for (const ParamSpec& spec : esm2_params(model.config)) {
      if (!model.params->has(spec.name)) continue;
      const auto whole = values(model, spec);
      const std::int64_t rows = spec.shape[0], columns = spec.shape.size() > 1 ? spec.shape[1] : 1;
      for (const auto& [first, count] : {std::pair{rows / 3, rows - rows / 3}, {rows - 1, std::int64_t{1}}}) {
        std::vector<float> part(static_cast<std::size_t>(count * columns), NAN);
        model.params->read(spec.name, first, count, part.data());
        ASSERT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first * columns)) << folder << spec.name;
      }
    }
  }
}

TEST(Naming, S45UnusedTensorsAreIgnoredSilently) { EXPECT_TRUE(open(golden("hf_extras")).notes.empty()); }

TEST(Naming, S46RotaryFrequenciesFollowTheFile) {
  EXPECT_EQ(open(golden("hf_safetensors")).config.inv_freq.size(), 4u);
  EXPECT_EQ(open(golden("hf_save_pretrained")).config.inv_freq.size(), 4u);  // "encoder.layer.*....inv_freq"
  EXPECT_TRUE(open(golden("nv_new_33")).config.inv_freq.empty());
  // fp16 rounds 10000^(-1/4) = 0.1 to another number, and that is the one to use.
  const float stored = open(golden("hf_f16")).config.inv_freq[1];
  EXPECT_EQ(stored, f16_to_f32(f32_to_f16(0.1f)));
  EXPECT_NE(stored, 0.1f);
}

TEST(Naming, S52PaddingRowsOfTheVocabularyAreNeverSeen) {
  const OpenedModel model = open(golden("nv_old_64"));
  EXPECT_EQ(model.config.vocabulary, 33);
  for (const ParamSpec& spec : esm2_params(model.config)) {
    if (spec.name == "lm_head.bias") {
      EXPECT_EQ(values(model, spec).size(), 33u);
      for (const float value : values(model, spec)) EXPECT_GT(value, -100.0f);
    }
  }
}

TEST(Naming, ClassifiersLoadAsEncodersAndSaySo) {
  const OpenedModel model = open(golden("hf_classifier"));
  EXPECT_FALSE(model.config.has_lm_head);
  EXPECT_THAT(model.notes, testing::Contains(HasSubstr("task head ignored: classifier.dense.bias")));
  EXPECT_THAT(model.notes, testing::Contains(HasSubstr("no language-model head")));
}

TEST(Naming, AnUntiedDecoderIsKept) {
  const TemporaryFolder folder;
  auto tensors = tensors_of(golden("hf_safetensors/model.safetensors"));
  OwnedTensor decoder = named(tensors, "esm.embeddings.word_embeddings.weight");
  decoder.plan.name = "lm_head.decoder.weight";
  tensors.push_back(decoder);
  std::filesystem::copy(golden("hf_safetensors/config.json"), folder / "config.json");
  save(folder / "model.safetensors", tensors);
  EXPECT_FALSE(open(folder.path()).params->has("lm_head.decoder.weight"));
  tensors.back().bytes[3] ^= 0x40;
  save(folder / "model.safetensors", tensors);
  EXPECT_TRUE(open(folder.path()).params->has("lm_head.decoder.weight"));
}

TEST(Naming, NamesGoBothWays) {
  for (const Naming naming : {Naming::hf, Naming::nv_esm, Naming::fair_esm, Naming::esme}) {
    const NamingTable& table = table_of(naming);
    EXPECT_EQ(table.naming, naming);
    for (const Part part : {Part::whole, Part::query, Part::key, Part::value, Part::fused}) {
      for (const char* parameter : {"embed.weight", "layer.12.qkv.bias", "layer.0.fc2.weight", "lm_head.bias"}) {
        const std::string stored = stored_name(table, parameter, part);
        if (stored.empty()) continue;
        EXPECT_EQ(resolve(table, stored).parameter, parameter);
        EXPECT_EQ(resolve(table, stored).part, part);
      }
    }
  }
  const NamingTable& hf = table_of(Naming::hf);
  EXPECT_EQ(resolve(hf, "esm.encoder.layer.01.LayerNorm.weight").use, Use::unknown);
  EXPECT_EQ(resolve(hf, "esm.encoder.layer.99999999999999999999.LayerNorm.weight").use, Use::unknown);
  EXPECT_EQ(resolve(hf, "esm.encoder.layer.3.LayerNorm.gamma").parameter, "layer.3.mlp_norm.weight");
}

}  // namespace
}  // namespace biowarp
