#include "io/hf_config.h"

#include "base/fail.h"
#include "io/file.h"
#include "io/json.h"

namespace biowarp {
namespace {

using nlohmann::json;

// Typed access to the fields of one JSON object.
class Fields {
 public:
  explicit Fields(const std::string& path) : path_(path), object_(parse_json(read_text(path), path)) {
    if (!object_.is_object()) fail_input("{}: expected a JSON object", path);
  }

  // The field, or nothing when it is absent or null.
  const json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  std::optional<std::int64_t> natural(const char* key) const {
    const json* field = find(key);
    if (!field) return std::nullopt;
    constexpr std::uint64_t kLargest = 1u << 31;
    if (!field->is_number_unsigned() || field->get<std::uint64_t>() > kLargest) refuse(key, "an integer >= 0", *field);
    return field->get<std::int64_t>();
  }
  std::optional<double> number(const char* key) const {
    const json* field = find(key);
    if (!field) return std::nullopt;
    if (!field->is_number()) refuse(key, "a number", *field);
    return field->get<double>();
  }
  std::optional<bool> boolean(const char* key) const {
    const json* field = find(key);
    if (!field) return std::nullopt;
    if (!field->is_boolean()) refuse(key, "true or false", *field);
    return field->get<bool>();
  }
  std::optional<std::string> text(const char* key) const {
    const json* field = find(key);
    if (!field) return std::nullopt;
    if (!field->is_string()) refuse(key, "text", *field);
    return field->get<std::string>();
  }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> result;
    const json* field = find(key);
    if (!field) return result;
    if (!field->is_array()) refuse(key, "a list of texts", *field);
    for (const json& item : *field) {
      if (!item.is_string()) refuse(key, "a list of texts", *field);
      result.push_back(item.get<std::string>());
    }
    return result;
  }
  std::map<std::string, double> numbers(const char* key) const {
    std::map<std::string, double> result;
    const json* field = find(key);
    if (!field) return result;
    if (!field->is_object()) refuse(key, "an object of numbers", *field);
    for (const auto& [name, value] : field->items()) {
      if (!value.is_number()) refuse(key, "an object of numbers", *field);
      result.emplace(name, value.get<double>());
    }
    return result;
  }

 private:
  [[noreturn]] void refuse(const char* key, const char* expected, const json& got) const {
    constexpr std::size_t kShown = 60;
    const std::string text = got.dump(-1, ' ', true, json::error_handler_t::replace);
    fail_input("{}: \"{}\" must be {}, got {}", path_, key, expected, text.substr(0, kShown));
  }

  std::string path_;
  json object_;
};

// Settings of peft's LoraConfig that make the merged weights something else than W + scale B A.
constexpr const char* kLoraExtensions[] = {"use_dora",          "use_qalora",
                                           "use_bdlora",        "lora_bias",
                                           "layer_replication", "kasa_config",
                                           "monteclora_config", "velora_config",
                                           "arrow_config",      "alora_invocation_tokens",
                                           "target_parameters", "trainable_token_indices"};

bool is_on(const json& setting) { return setting.is_boolean() ? setting.get<bool>() : !setting.empty(); }

}  // namespace

HfConfig read_hf_config(const std::string& path) {
  const Fields fields(path);
  HfConfig config;
  config.path = path;
  config.model_type = fields.text("model_type").value_or("");
  config.architectures = fields.texts("architectures");
  config.hidden_size = fields.natural("hidden_size");
  config.num_hidden_layers = fields.natural("num_hidden_layers");
  config.num_attention_heads = fields.natural("num_attention_heads");
  config.intermediate_size = fields.natural("intermediate_size");
  config.vocab_size = fields.natural("vocab_size");
  config.mask_token_id = fields.natural("mask_token_id");
  config.pad_token_id = fields.natural("pad_token_id");
  config.layer_norm_eps = fields.number("layer_norm_eps");
  config.rope_theta = fields.number("rope_theta");
  config.token_dropout = fields.boolean("token_dropout");
  config.emb_layer_norm_before = fields.boolean("emb_layer_norm_before");
  config.is_folding_model = fields.boolean("is_folding_model");
  config.qkv_weight_interleaved = fields.boolean("qkv_weight_interleaved");
  config.position_embedding_type = fields.text("position_embedding_type");
  return config;
}

std::string hf_config_text(const HfConfig& config) {
  nlohmann::ordered_json out;
  const auto set = [&](const char* key, const auto& value) {
    if (value) out[key] = *value;
  };
  out["architectures"] = config.architectures;
  out["model_type"] = config.model_type;
  set("hidden_size", config.hidden_size);
  set("num_hidden_layers", config.num_hidden_layers);
  set("num_attention_heads", config.num_attention_heads);
  set("intermediate_size", config.intermediate_size);
  set("vocab_size", config.vocab_size);
  set("padded_vocab_size", config.padded_vocab_size);
  set("layer_norm_eps", config.layer_norm_eps);
  set("token_dropout", config.token_dropout);
  set("qkv_weight_interleaved", config.qkv_weight_interleaved);
  set("torch_dtype", config.torch_dtype);
  set("tie_word_embeddings", config.tie_word_embeddings);
  out["position_embedding_type"] = "rotary";
  out["emb_layer_norm_before"] = false;
  out["max_position_embeddings"] = 1026;
  out["mask_token_id"] = 32;
  out["pad_token_id"] = 1;
  out["hidden_act"] = "gelu";
  out["hidden_dropout_prob"] = 0.0;
  out["attention_probs_dropout_prob"] = 0.0;
  out["initializer_range"] = 0.02;
  out["is_folding_model"] = false;
  constexpr int kIndent = 2;
  return out.dump(kIndent) + "\n";
}

LoraConfig read_lora_config(const std::string& path) {
  const Fields fields(path);
  LoraConfig config;
  config.path = path;
  config.peft_type = fields.text("peft_type").value_or("");
  config.base_model = fields.text("base_model_name_or_path").value_or("");
  config.rank = fields.natural("r");
  config.alpha = fields.number("lora_alpha").value_or(0);
  config.rslora = fields.boolean("use_rslora").value_or(false);
  const json* init = fields.find("init_lora_weights");
  if (init && init->is_string()) config.init = init->get<std::string>();
  config.alpha_pattern = fields.numbers("alpha_pattern");
  for (const char* key : kLoraExtensions) {
    if (const json* field = fields.find(key); field && is_on(*field)) {
      config.extension = key;
      break;
    }
  }
  return config;
}

}  // namespace biowarp
