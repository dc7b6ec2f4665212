// What open_model refuses, and that it says why.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "io/file.h"
#include "models/testing/checkpoints.h"

namespace biowarp {
namespace {

using namespace testing_checkpoints;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

constexpr const char* kConfig = R"({"model_type": "esm", "hidden_size": 16, "num_hidden_layers": 2,
  "num_attention_heads": 2, "intermediate_size": 20, "vocab_size": 33, "position_embedding_type": "rotary")";

// The golden HF checkpoint in a folder of its own, to be changed.
struct Edited {
  TemporaryFolder folder;
  std::vector<OwnedTensor> tensors = tensors_of(golden("hf_safetensors/model.safetensors"));
  std::string config = std::string(kConfig) + "}";

  void configure(const std::string& more) { config = std::string(kConfig) + ", " + more + "}"; }
  void write() {
    save(folder / "model.safetensors", tensors);
    if (!config.empty()) write_text(folder / "config.json", config);
  }
  std::string error() {
    write();
    return error_of(folder.path());
  }
  OpenedModel open() {
    write();
    return testing_checkpoints::open(folder.path());
  }
  void remove(const std::string& part) {
    std::erase_if(tensors, [&](const OwnedTensor& tensor) { return tensor.plan.name.find(part) != std::string::npos; });
  }
};

TEST(Refusal, S44ListsMissingUnexpectedAndMisshapenTensorsTogether) {
  Edited edited;
  named(edited.tensors, "esm.encoder.layer.0.LayerNorm.weight").plan.name = "esm.encoder.layer.0.LayerNrom.weight";
  edited.remove("layer.1.attention.self.key.bias");
  named(edited.tensors, "esm.encoder.layer.1.output.dense.weight") =
      zeros("esm.encoder.layer.1.output.dense.weight", {20, 16});
  named(edited.tensors, "lm_head.bias") = zeros("lm_head.bias", {33}, DType::i32);
  edited.tensors.push_back(zeros("esm.encoder.layer.2.LayerNorm.bias", {16}));
  EXPECT_THAT(edited.error(), AllOf(HasSubstr("missing (2):\n    encoder.layer.0.LayerNorm.weight\n"
                                              "    encoder.layer.1.attention.self.key.bias"),
                                    HasSubstr("unexpected (2):\n    esm.encoder.layer.0.LayerNrom.weight\n"
                                              "    esm.encoder.layer.2.LayerNorm.bias"),
                                    HasSubstr("esm.encoder.layer.1.output.dense.weight is [20, 16], expected [16, 20]"),
                                    HasSubstr("lm_head.bias is i32")));
}

TEST(Refusal, AConfigThatDisagreesWithTheTensors) {
  Edited edited;
  edited.config = R"({"model_type": "esm", "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2})";
  EXPECT_THAT(edited.error(), HasSubstr("missing (16)"));
  edited.config = R"({"model_type": "esm", "hidden_size": 16, "num_attention_heads": 3})";
  EXPECT_THAT(edited.error(), HasSubstr("width 16 does not divide into 3 heads"));
  edited.config = R"({"model_type": "esm", "hidden_size": "16"})";
  EXPECT_THAT(edited.error(), HasSubstr("\"hidden_size\" must be an integer"));
  edited.config = R"({"model_type": "esm", "num_hidden_layers": 4000000000})";
  EXPECT_THAT(edited.error(), HasSubstr("num_hidden_layers"));
  edited.config = R"({"model_type": "esm", "num_hidden_layers": 2000000000})";
  EXPECT_THAT(edited.error(), HasSubstr("no model has these sizes"));
  edited.config = R"({"model_type": "esm")";
  EXPECT_THAT(edited.error(), HasSubstr("not valid JSON"));
}

TEST(Refusal, TwoTensorsForOnePlace) {
  Edited edited;
  OwnedTensor twin = named(edited.tensors, "lm_head.bias");
  twin.plan.name = "lm_head.decoder.bias";
  edited.tensors.push_back(twin);
  EXPECT_EQ(edited.error(), "");
  edited.tensors.back().bytes[1] ^= 1;
  EXPECT_THAT(edited.error(), HasSubstr("stand for the same parameter and differ"));
}

// A fused QKV and a query of its own: neither is silently preferred.
TEST(Refusal, FusedAndSeparateQueriesTogether) {
  const TemporaryFolder folder;
  auto tensors = tensors_of(golden("nv_new_33/model.safetensors"));
  tensors.push_back(zeros("model.encoder.layers.0.self_attention.layernorm_qkv.query_weight", {16, 16}));
  std::filesystem::copy(golden("nv_new_33/config.json"), folder / "config.json");
  save(folder / "model.safetensors", tensors);
  EXPECT_THAT(error_of(folder.path()), HasSubstr("unexpected (1):\n    model.encoder.layers.0.self_attention."
                                                 "layernorm_qkv.query_weight"));
}

TEST(Refusal, OtherArchitecturesByName) {
  const std::vector<std::pair<std::string, std::string>> configs{
      {R"("position_embedding_type": "absolute")", "ESM-1b or ESM-1v"},
      {R"("emb_layer_norm_before": true)", "ESM-1b"},
      {R"("is_folding_model": true)", "ESMFold"},
      {R"("architectures": ["EsmForProteinFolding"])", "ESMFold"},
  };
  for (const auto& [setting, name] : configs) {
    Edited edited;
    const std::size_t rotary = edited.config.find(", \"position_embedding_type\": \"rotary\"");
    edited.config = edited.config.substr(0, rotary) + ", " + setting + "}";
    EXPECT_THAT(edited.error(), AllOf(HasSubstr(name), HasSubstr("ESM-2 only"))) << setting;
  }
  const std::vector<std::pair<std::string, std::string>> names{
      {"trunk.blocks.0.seq_attention.o_proj.weight", "ESMFold"},
      {"encoder.sentence_encoder.layers.0.row_self_attention.layer.q_proj.weight", "MSA Transformer"},
      {"transformer.blocks.0.attn.layernorm_qkv.1.weight", "ESM-C"},
      {"encoder.sentence_encoder.embed_positions.weight", "ESM-1b or ESM-1v"},
      {"esm.embeddings.layer_norm.weight", "ESM-1b"},
  };
  for (const auto& [tensor, name] : names) {
    Edited edited;
    edited.config.clear();
    edited.tensors.push_back(zeros(tensor, {2, 2}));
    EXPECT_THAT(edited.error(), AllOf(HasSubstr(name), HasSubstr("ESM-2 only"))) << tensor;
  }
  Edited other;
  other.config = R"({"model_type": "bert"})";
  EXPECT_THAT(other.error(), HasSubstr("model_type is \"bert\""));
}

TEST(Refusal, OtherVocabularies) {
  for (const auto& [rows, name] : {std::pair{446, "SaProt"}, {40, "vocabulary has 40 tokens"}}) {
    Edited edited;
    edited.config =
        std::string(R"({"model_type": "esm", "num_attention_heads": 2, "vocab_size": )") + std::to_string(rows) + "}";
    named(edited.tensors, "esm.embeddings.word_embeddings.weight") =
        zeros("esm.embeddings.word_embeddings.weight", {rows, 16});
    EXPECT_THAT(edited.error(), HasSubstr(name));
  }
}

TEST(Refusal, LearnedPositionsWithoutAConfig) {
  Edited edited;
  edited.config.clear();
  edited.tensors.push_back(zeros("esm.embeddings.position_embeddings.weight", {1026, 16}));
  EXPECT_EQ(edited.error(), "") << "with rotary frequencies it is ESM-2";
  edited.remove("inv_freq");
  EXPECT_THAT(edited.error(), HasSubstr("ESM-1b or ESM-1v"));
}

TEST(Refusal, S70HeadsThatNothingTells) {
  EXPECT_THAT(error_of(golden("state_dict_nothing")),
              AllOf(HasSubstr("the number of attention heads is not known"), HasSubstr("config.json")));
}

// A name without the shape that belongs to it tells nothing; with both, the heads are known.
TEST(Refusal, HeadsFromTheNameNeedTheShapeToo) {
  const TemporaryFolder folder;
  save(folder / "esm2_t6_8M.safetensors", tensors_of(golden("state_dict_nothing/w.safetensors")));
  EXPECT_THAT(error_of(folder / "esm2_t6_8M.safetensors"), HasSubstr("heads is not known"));
  const std::string shipped = BIOWARP_SOURCE_DIR "/models/biowarp-esm2-8m/model.safetensors";
  std::filesystem::create_symlink(shipped, folder / "my_esm2_t6_8M_UR50D.safetensors");
  const OpenedModel model = open(folder / "my_esm2_t6_8M_UR50D.safetensors");
  EXPECT_EQ(model.config.heads, 20);
  EXPECT_THAT(model.notes, Contains(HasSubstr("number of heads (20) taken from the name")));
  std::filesystem::create_symlink(shipped, folder / "mine.safetensors");
  EXPECT_THAT(error_of(folder / "mine.safetensors"), HasSubstr("heads is not known"));
}

TEST(Refusal, AbsentFieldsTakeEsm2Values) {
  Edited edited;
  edited.config = R"({"model_type": "esm"})";
  const OpenedModel model = edited.open();
  EXPECT_EQ(model.config.layers, 2);
  EXPECT_EQ(model.config.heads, 2);
  EXPECT_EQ(model.config.feed_forward, 20);
  EXPECT_EQ(model.config.layer_norm_eps, 1e-5f);
  EXPECT_TRUE(model.config.token_dropout);
  EXPECT_FALSE(model.config.tanh_gelu);
  edited.configure(R"("layer_norm_eps": 1e-12, "token_dropout": false)");
  EXPECT_EQ(edited.open().config.layer_norm_eps, 1e-12f);
  EXPECT_FALSE(edited.open().config.token_dropout);
}

TEST(Refusal, S42S43MissingHeadsAreSaidAndNeverInvented) {
  Edited edited;
  edited.remove("contact_head");
  OpenedModel model = edited.open();
  EXPECT_FALSE(model.config.has_contact_head);
  EXPECT_TRUE(model.config.has_lm_head);
  EXPECT_FALSE(model.params->has("contact.weight"));
  EXPECT_THAT(model.notes, Contains(HasSubstr("no contact head")));
  edited.remove("lm_head");
  model = edited.open();
  EXPECT_FALSE(model.config.has_lm_head);
  EXPECT_FALSE(model.params->has("lm_head.dense.weight"));
  EXPECT_THAT(model.notes, Contains(HasSubstr("no language-model head")));
}

TEST(Refusal, HalfOfAHeadIsAnError) {
  Edited edited;
  edited.remove("contact_head.regression.bias");
  EXPECT_THAT(edited.error(), HasSubstr("missing (1):\n    contact_head.regression.bias"));
  edited.remove("contact_head");
  edited.remove("lm_head.layer_norm");
  EXPECT_THAT(edited.error(), HasSubstr("missing (2):\n    lm_head.layer_norm.bias"));
}

TEST(Refusal, S43AContactHeadThatIsNotFiniteIsNotUsed) {
  Edited edited;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  named(edited.tensors, "esm.contact_head.regression.weight")
      .bytes.replace(4, 4, reinterpret_cast<const char*>(&nan), 4);
  const OpenedModel model = edited.open();
  EXPECT_FALSE(model.config.has_contact_head);
  EXPECT_THAT(model.notes, Contains(HasSubstr("not finite")));
}

TEST(Refusal, S46RotaryFrequenciesAreChecked) {
  const std::string name = "esm.encoder.layer.1.attention.self.rotary_embeddings.inv_freq";
  Edited edited;
  named(edited.tensors, name) = zeros(name, {5});
  EXPECT_THAT(edited.error(), HasSubstr("expected 4 floating-point frequencies"));
  named(edited.tensors, name) = zeros(name, {4});
  EXPECT_THAT(edited.error(), HasSubstr("differs from"));
  named(edited.tensors, name).bytes.assign(16, '\xff');
  EXPECT_THAT(edited.error(), HasSubstr("not a frequency"));
}

TEST(Refusal, RopeThetaIsFollowedWhenNoFrequenciesAreStored) {
  Edited edited;
  edited.remove("inv_freq");
  edited.configure(R"("rope_theta": 20000.0)");
  const OpenedModel model = edited.open();
  ASSERT_EQ(model.config.inv_freq.size(), 4u);
  EXPECT_FLOAT_EQ(model.config.inv_freq[2], static_cast<float>(std::pow(20000.0, -0.5)));
  edited.configure(R"("rope_theta": 10000.0)");
  EXPECT_TRUE(edited.open().config.inv_freq.empty());
  edited.configure(R"("rope_theta": 0)");
  EXPECT_THAT(edited.error(), HasSubstr("rope_theta"));
}

TEST(Refusal, S47TheHashChangesWithValuesAndSettings) {
  Edited edited;
  const std::string first = edited.open().params->hash();
  EXPECT_EQ(first, edited.open().params->hash());
  edited.tensors[3].bytes[0] ^= 1;
  const std::string second = edited.open().params->hash();
  EXPECT_NE(first, second);
  edited.configure(R"("layer_norm_eps": 1e-6)");
  EXPECT_NE(second, edited.open().params->hash());
}

TEST(Refusal, FilesOfOtherFormats) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> files{
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n", "Git LFS pointer"},
      {std::string("\x89HDF\r\n\x1a\n", 8), "HDF5"},
      {"GGUF----", "GGUF"},
      {"", "empty"},
      {"<!DOCTYPE html>", "web page"},
      {"something else", "neither a safetensors nor a torch file"},
      {std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15), "before version 1.6"},
  };
  for (const auto& [bytes, name] : files) {
    write_text(folder / "model.safetensors", bytes);
    EXPECT_THAT(error_of(folder.path()), HasSubstr(name));
  }
}

TEST(Refusal, FoldersWithoutOneModel) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of(folder.path()), AllOf(HasSubstr("no weights"), HasSubstr("model.safetensors")));
  write_text(folder / "tf_model.h5", "x");
  EXPECT_THAT(error_of(folder.path()), HasSubstr("only tf_model.h5"));
  save(folder / "a.safetensors", {});
  save(folder / "b.safetensors", {});
  EXPECT_THAT(error_of(folder.path()), HasSubstr("several weight files (a.safetensors, b.safetensors)"));
  EXPECT_THAT(error_of(folder / "a.safetensors"), HasSubstr("no ESM-2 in it"));
}

TEST(Refusal, ShardsThatDoNotMatchTheirIndex) {
  const TemporaryFolder folder;
  std::filesystem::copy(golden("hf_sharded_safetensors"), folder.path(), std::filesystem::copy_options::recursive);
  EXPECT_EQ(error_of(folder.path()), "");
  const std::string index = folder / "model.safetensors.index.json";
  const std::string text = read_text(index);
  const std::string name = "\"lm_head.bias\"";
  const auto changed = [&](const std::string& replacement) {
    std::string edited = text;
    edited.replace(edited.find(name), name.size(), replacement);
    write_text(index, edited);
    return error_of(folder.path());
  };
  EXPECT_THAT(changed("\"lm_head.bais\""), HasSubstr("lm_head.bias is in"));
  EXPECT_THAT(changed("\"extra\": \"model-00002-of-00002.safetensors\", \"lm_head.bias\""),
              HasSubstr("tensor extra is missing"));
  EXPECT_THAT(changed("\"x\": \"../../model.safetensors\", \"lm_head.bias\""), HasSubstr("in the same folder"));
  write_text(index, text);
  std::filesystem::remove(folder / "model-00001-of-00002.safetensors");
  EXPECT_THAT(error_of(folder.path()), HasSubstr("model-00001-of-00002.safetensors"));
}

}  // namespace
}  // namespace biowarp
