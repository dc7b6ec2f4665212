#include "models/export_model.h"

#include <gmock/gmock.h>

#include "io/file.h"
#include "models/testing/checkpoints.h"

namespace biowarp {
namespace {

using namespace testing_checkpoints;
using testing::Contains;
using testing::HasSubstr;

std::string bytes_of(const TensorInfo& tensor) {
  return {reinterpret_cast<const char*>(tensor.data),
          static_cast<std::size_t>(tensor.elements()) * size_of(tensor.dtype)};
}

ExportReport convert(const std::string& from, const std::string& to, Naming naming,
                     std::optional<DType> dtype = std::nullopt) {
  return export_model(open(from), {to, naming, dtype, {}});
}

class RoundTrip : public testing::TestWithParam<const char*> {};

// HF -> nv_esm -> HF: every tensor that nv_esm can hold comes back with the same bytes.
TEST_P(RoundTrip, IsBitExact) {
  const TemporaryFolder folder;
  const std::string source = golden(GetParam());
  convert(source, folder / "nv", Naming::nv_esm);
  convert(folder / "nv", folder / "hf", Naming::hf);
  EXPECT_EQ(open(folder / "nv").format, "nv_esm");
  const WeightFile before = open_weight_file(source + "/model.safetensors");
  const WeightFile after = open_weight_file(folder / "hf/model.safetensors");
  std::size_t compared = 0;
  for (const TensorInfo& tensor : before.tensors) {
    const bool lost =
        tensor.name.find("contact_head") != std::string::npos || tensor.name.find("inv_freq") != std::string::npos;
    const TensorInfo* twin = after.find(tensor.name);
    EXPECT_EQ(twin == nullptr, lost) << tensor.name;
    if (!twin) continue;
    EXPECT_EQ(twin->shape, tensor.shape) << tensor.name;
    EXPECT_EQ(twin->dtype, tensor.dtype) << tensor.name;
    EXPECT_TRUE(bytes_of(*twin) == bytes_of(tensor)) << tensor.name;
    ++compared;
  }
  EXPECT_EQ(compared, after.tensors.size());
  EXPECT_EQ(compared, 2u * 16 + 3 + 5);
}

INSTANTIATE_TEST_SUITE_P(Types, RoundTrip, testing::Values("hf_safetensors", "hf_f16", "hf_bf16"));

class ToHf : public testing::TestWithParam<const char*> {};

// From every naming to HF: the same parameters, heads and settings.
TEST_P(ToHf, KeepsEverything) {
  const TemporaryFolder folder;
  convert(golden(GetParam()), folder / "hf", Naming::hf);
  const OpenedModel before = open(golden(GetParam())), after = open(folder / "hf");
  EXPECT_EQ(after.format, "hf");
  EXPECT_EQ(after.config.has_lm_head, before.config.has_lm_head);
  EXPECT_EQ(after.config.has_contact_head, before.config.has_contact_head);
  EXPECT_EQ(after.config.inv_freq, before.config.inv_freq);
  EXPECT_EQ(after.config.layer_norm_eps, before.config.layer_norm_eps);
  for (const ParamSpec& spec : esm2_params(before.config)) {
    ASSERT_EQ(after.params->has(spec.name), before.params->has(spec.name)) << spec.name;
    if (!before.params->has(spec.name)) continue;
    ASSERT_EQ(after.params->stored_dtype(spec.name), before.params->stored_dtype(spec.name)) << spec.name;
    ASSERT_EQ(values(after, spec), values(before, spec)) << spec.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Namings, ToHf,
                         testing::Values("fair_esm", "esme", "nv_plain_qkv", "hf_views", "hf_esm_model",
                                         "hf_classifier", "lora", "hf_mixed", "hf_save_pretrained"));

TEST(Export, OtherTypesRoundOnce) {
  const TemporaryFolder folder;
  convert(golden("hf_safetensors"), folder / "bf16", Naming::hf, DType::bf16);
  const OpenedModel ours = open(folder / "bf16"), theirs = open(golden("hf_bf16"));
  for (const ParamSpec& spec : esm2_params(ours.config)) {
    if (!ours.params->has(spec.name)) continue;
    EXPECT_EQ(values(ours, spec), values(theirs, spec)) << spec.name;
  }
  EXPECT_THAT(read_text(folder / "bf16/config.json"), HasSubstr("\"torch_dtype\": \"bfloat16\""));
}

TEST(Export, NvidiaFilesArePadded) {
  const TemporaryFolder folder;
  const ExportReport report = convert(golden("hf_f16"), folder / "nv", Naming::nv_esm);
  EXPECT_THAT(report.notes, Contains(HasSubstr("contact head")));
  EXPECT_THAT(report.notes, Contains(HasSubstr("rotary frequencies")));
  const WeightFile file = open_weight_file(folder / "nv/model.safetensors");
  EXPECT_EQ(report.tensors, static_cast<std::int64_t>(file.tensors.size()));
  const TensorInfo& embedding = *file.find("model.embeddings.word_embeddings.weight");
  EXPECT_EQ(embedding.shape, (std::vector<std::int64_t>{64, 16}));
  EXPECT_TRUE(std::all_of(embedding.data + 33 * 16 * 2, embedding.data + 64 * 16 * 2,
                          [](std::byte byte) { return byte == std::byte{0}; }));
  const TensorInfo& bias = *file.find("lm_head.decoder.bias");
  EXPECT_EQ(bias.shape, (std::vector<std::int64_t>{64}));
  EXPECT_EQ(bias.data[63 * 2], std::byte{0xff});  // -65504
  EXPECT_EQ(bias.data[63 * 2 + 1], std::byte{0xfb});
}

TEST(Export, TheFolderAppearsWholeOrNotAtAll) {
  const TemporaryFolder folder;
  auto tensors = tensors_of(golden("hf_safetensors/model.safetensors"));
  const float large = 1e6f;
  named(tensors, "lm_head.dense.weight").bytes.replace(0, 4, reinterpret_cast<const char*>(&large), 4);
  std::filesystem::create_directory(folder / "from");
  save(folder / "from/model.safetensors", tensors);
  try {
    convert(folder / "from", folder / "to", Naming::hf, DType::f16);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("lm_head.dense.weight: the value 1000000"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "to"));
  convert(folder / "from", folder / "to", Naming::hf, DType::bf16);  // over what the first one left
  EXPECT_TRUE(std::filesystem::exists(folder / "to/model.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(folder / "to.partial"));
  EXPECT_THROW(convert(folder / "from", folder / "to", Naming::hf), Error);
  EXPECT_THROW(convert(folder / "from", folder / "esme", Naming::esme), Error);
  EXPECT_THROW(convert(folder / "from", folder / "ints", Naming::hf, DType::i8), Error);
}

TEST(Export, AnUntiedDecoderIsWritten) {
  const TemporaryFolder folder;
  auto tensors = tensors_of(golden("hf_safetensors/model.safetensors"));
  OwnedTensor decoder = named(tensors, "esm.embeddings.word_embeddings.weight");
  decoder.plan.name = "lm_head.decoder.weight";
  decoder.bytes[3] ^= 0x40;
  tensors.push_back(decoder);
  std::filesystem::create_directory(folder / "from");
  save(folder / "from/model.safetensors", tensors);
  convert(folder / "from", folder / "nv", Naming::nv_esm);
  convert(folder / "nv", folder / "hf", Naming::hf);
  EXPECT_TRUE(bytes_of(*open_weight_file(folder / "hf/model.safetensors").find("lm_head.decoder.weight")) ==
              decoder.bytes);
  EXPECT_THAT(read_text(folder / "hf/config.json"), HasSubstr("\"tie_word_embeddings\": false"));
}

}  // namespace
}  // namespace biowarp
