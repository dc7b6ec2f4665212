// Settings of a checkpoint: Hugging Face's config.json, and PEFT's adapter_config.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace biowarp {

// Fields of config.json that ESM checkpoints carry. Absent and null fields are empty.
struct HfConfig {
  std::string path;  // where it comes from, for messages
  std::string model_type;
  std::vector<std::string> architectures;
  std::optional<std::int64_t> hidden_size, num_hidden_layers, num_attention_heads, intermediate_size, vocab_size;
  std::optional<std::int64_t> mask_token_id, pad_token_id;
  std::optional<double> layer_norm_eps, rope_theta;
  std::optional<bool> token_dropout, emb_layer_norm_before, is_folding_model, qkv_weight_interleaved;
  std::optional<std::string> position_embedding_type;
  // Written, not read.
  std::optional<std::int64_t> padded_vocab_size;
  std::optional<std::string> torch_dtype;
  std::optional<bool> tie_word_embeddings;
};

// Throws Error(input) naming the field that has another type than it should.
HfConfig read_hf_config(const std::string& path);

// config.json with the fields that are set, and those that are the same for every ESM-2.
std::string hf_config_text(const HfConfig& config);

struct LoraConfig {
  std::string path;
  std::string peft_type, base_model;
  std::optional<std::int64_t> rank;
  double alpha = 0;
  bool rslora = false;
  std::string init;                             // init_lora_weights when it is a name: "pissa", "olora", ...
  std::map<std::string, double> alpha_pattern;  // module -> alpha
  std::string extension;  // first setting that is on and changes more than A and B ("use_dora"); empty: none
};
LoraConfig read_lora_config(const std::string& path);

}  // namespace biowarp
