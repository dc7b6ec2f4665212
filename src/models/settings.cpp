#include "models/settings.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/fail.h"
#include "io/convert.h"
#include "models/stored_params.h"

namespace biowarp {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// ---- other architectures ----

constexpr const char* kOnlyEsm2 = "biowarp runs ESM-2 only";

// Told by a tensor that only they have.
struct ForeignTensor {
  std::string_view part;
  const char* architecture;
};
constexpr ForeignTensor kForeignTensors[] = {
    {"trunk.", "ESMFold (a structure predictor; its language model is facebook/esm2_t36_3B_UR50D)"},
    {"row_self_attention", "the MSA Transformer"},
    {"transformer.blocks.", "ESM-C or ESM3"},
    {"encoder.embed_gvp", "ESM-IF1"},
    {"self_attn.bias_k", "ESM-1"},
    {"emb_layer_norm_before", "ESM-1b or ESM-1v (learned positions)"},
    {"embed_positions", "ESM-1b or ESM-1v (learned positions)"},
    {"embeddings.layer_norm", "ESM-1b (a norm behind the embedding)"},
};

void refuse_by_config(const HfConfig& config) {
  const auto refuse = [&](const std::string& why) { fail_input("{}: {}; {}", config.path, why, kOnlyEsm2); };
  const auto has = [&](std::string_view architecture) {
    return std::find(config.architectures.begin(), config.architectures.end(), architecture) !=
           config.architectures.end();
  };
  if (config.is_folding_model.value_or(false) || has("EsmForProteinFolding")) {
    refuse("this is ESMFold (a structure predictor; its language model is facebook/esm2_t36_3B_UR50D)");
  }
  const std::set<std::string> known{"", "esm", "nv_esm", "fast_esm"};
  if (config.model_type == "esmc" || config.model_type == "esm3") refuse("this is " + config.model_type);
  if (known.count(config.model_type) == 0) refuse(fmt::format("model_type is \"{}\", not \"esm\"", config.model_type));
  if (config.position_embedding_type.value_or("rotary") != "rotary") {
    refuse(fmt::format("this is ESM-1b or ESM-1v: position_embedding_type is \"{}\", ESM-2 has \"rotary\"",
                       *config.position_embedding_type));
  }
  if (config.emb_layer_norm_before.value_or(false)) refuse("this is ESM-1b: emb_layer_norm_before is true");
}

// "esm2_t6_8M" of ESME's metadata, "roberta_large" of fair-esm's arguments.
void refuse_by_metadata(const WeightFile& file) {
  const auto value = [&](const char* key) {
    const auto found = file.metadata.find(key);
    return found == file.metadata.end() ? std::string() : found->second;
  };
  const std::string esme = value("name"), arch = value("args.arch");
  for (const char* other : {"esm1b", "esm1v", "esmc"}) {
    if (esme.rfind(other, 0) == 0) fail_input("{}: this is {}; {}", file.path, esme, kOnlyEsm2);
  }
  if (arch == "roberta_large") fail_input("{}: this is ESM-1b or ESM-1v (arch {}); {}", file.path, arch, kOnlyEsm2);
  if (arch == "protein_bert_base") fail_input("{}: this is ESM-1 (arch {}); {}", file.path, arch, kOnlyEsm2);
  if (arch == "msa_transformer") fail_input("{}: this is the MSA Transformer; {}", file.path, kOnlyEsm2);
}

// ---- sizes ----

constexpr std::int64_t kVocabulary = 33, kPaddedVocabulary = 64, kSaProtVocabulary = 446;
constexpr std::int64_t kMostLayers = 4096, kLargestWidth = 1 << 20;

std::optional<std::int64_t> metadata_number(const WeightFile& file, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end()) continue;
    const std::string& text = found->second;
    const bool digits = !text.empty() && text.size() < 10 &&
                        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) fail_input("{}: {} should be a number, it is \"{}\"", file.path, key, text);
    return std::stoll(text);
  }
  return std::nullopt;
}

std::optional<std::int64_t> first_of(std::optional<std::int64_t> a, std::optional<std::int64_t> b) { return a ? a : b; }

std::int64_t layers_in(const Placement& placement) {
  std::int64_t layers = 0;
  for (const auto& [name, parts] : placement.params) {
    if (name.rfind("layer.", 0) == 0) layers = std::max<std::int64_t>(layers, std::stoll(name.substr(6)) + 1);
  }
  return layers;
}

std::int64_t axis_of(const Placement& placement, const char* parameter, std::size_t axis, const std::string& path) {
  const TensorInfo* tensor = placement.find(parameter);
  if (!tensor || tensor->shape.size() != 2) {
    fail_input("{}: no config gives the sizes, and the file has no matrix for {} to tell them by", path, parameter);
  }
  return tensor->shape[axis];
}

// The public size that stands in a file or folder name and has these layers and this width.
std::optional<Esm2Size> size_in_name(const std::string& name, std::int64_t layers, std::int64_t hidden) {
  for (const Esm2Size& size : esm2_sizes()) {
    const bool named = contains(name, size.full_name) ||
                       contains(name, fmt::format("t{}_{}", size.layers, size.name)) ||
                       contains(name, fmt::format("_{}", size.name)) || contains(name, fmt::format("-{}", size.name));
    if (named && size.layers == layers && size.hidden == hidden) return size;
  }
  return std::nullopt;
}

std::int64_t derive_heads(const Esm2Config& config, const Placement& placement, const std::string& name,
                          const std::string& path, std::vector<std::string>& notes) {
  if (!placement.rotary.empty() && placement.rotary[0]->elements() > 0) {
    return config.hidden / (2 * placement.rotary[0]->elements());
  }
  if (const TensorInfo* contact = placement.find("contact.weight")) return contact->elements() / config.layers;
  if (const auto size = size_in_name(name, config.layers, config.hidden)) {
    notes.push_back(fmt::format("number of heads ({}) taken from the name", size->heads));
    return size->heads;
  }
  fail_input(
      "{}: the number of attention heads is not known: no config.json, no rotary frequencies, no contact "
      "head "
      "and no public size in the name; put the model's config.json beside it",
      path);
}

void check_sizes(const Esm2Config& config, const std::string& path) {
  const auto in_range = [](std::int64_t value, std::int64_t largest) { return value >= 1 && value <= largest; };
  if (!in_range(config.layers, kMostLayers) || !in_range(config.hidden, kLargestWidth) ||
      !in_range(config.feed_forward, kLargestWidth)) {
    fail_input("{}: no model has these sizes: {} layers, width {}, feed-forward width {}", path, config.layers,
               config.hidden, config.feed_forward);
  }
}

void check_heads(const Esm2Config& config, const std::string& path) {
  if (config.heads < 1 || config.hidden % config.heads != 0 || config.head_width() % 2 != 0) {
    fail_input("{}: width {} does not divide into {} heads of an even width", path, config.hidden, config.heads);
  }
}

void check_vocabulary(std::int64_t vocabulary, const std::string& path) {
  if (vocabulary == kVocabulary) return;
  if (vocabulary == kSaProtVocabulary) {
    fail_input("{}: this is SaProt (446 tokens of residue and 3Di structure letters); {}", path, kOnlyEsm2);
  }
  fail_input("{}: the vocabulary has {} tokens; ESM-2 has the 33 of its vocab.txt, and biowarp knows no others", path,
             vocabulary);
}

std::int64_t derive_vocabulary(const std::optional<HfConfig>& config, Naming naming, std::int64_t rows) {
  if (config && config->vocab_size && rows >= *config->vocab_size) {
    const bool padded = naming == Naming::nv_esm && *config->vocab_size == kPaddedVocabulary;
    return padded ? kVocabulary : *config->vocab_size;
  }
  return naming == Naming::nv_esm && rows == kPaddedVocabulary ? kVocabulary : rows;
}

// ---- rotary frequencies ----

// The frequencies that the file holds, checked; nothing when it holds none (S46).
std::vector<float> read_rotary(const Placement& placement, std::int64_t head_width, const std::string& path) {
  std::vector<float> first;
  for (const TensorInfo* tensor : placement.rotary) {
    if (!is_floating(tensor->dtype) || tensor->shape.size() != 1 || tensor->elements() != head_width / 2) {
      fail_input("{}: {} is {} of {}, expected {} floating-point frequencies", path, tensor->name,
                 describe_shape(tensor->shape), name_of(tensor->dtype), head_width / 2);
    }
    std::vector<float> values(static_cast<std::size_t>(tensor->elements()));
    as_matrix(*tensor, true).read(0, tensor->elements(), values.data());
    for (const float value : values) {
      if (!std::isfinite(value)) fail_input("{}: {} holds {}, not a frequency", path, tensor->name, value);
    }
    if (first.empty()) first = values;
    if (values != first) {
      fail_input("{}: {} differs from {}; biowarp uses one set of rotary frequencies for all layers", path,
                 tensor->name, placement.rotary[0]->name);
    }
  }
  return first;
}

std::vector<float> rotary_of_base(double base, std::int64_t head_width, const std::string& path) {
  if (!std::isfinite(base) || base <= 1) fail_input("{}: rope_theta is {}, expected a number above 1", path, base);
  std::vector<float> values;
  for (std::int64_t j = 0; j < head_width; j += 2) {
    values.push_back(static_cast<float>(std::pow(base, -static_cast<double>(j) / static_cast<double>(head_width))));
  }
  return values;
}

void refuse_learned_positions(const Checkpoint& checkpoint, const Placement& placement) {
  if (checkpoint.config || !placement.rotary.empty()) return;
  for (const TensorInfo& tensor : checkpoint.weights.tensors) {
    if (!contains(tensor.name, "position_embeddings.weight")) continue;
    fail_input(
        "{}: {} without rotary frequencies and without config.json: this looks like ESM-1b or ESM-1v; for "
        "ESM-2 "
        "put its config.json beside the file. {}",
        checkpoint.weights.path, tensor.name, kOnlyEsm2);
  }
}

bool has_any(const Placement& placement, std::string_view prefix) {
  const auto found = placement.params.lower_bound(prefix);
  return found != placement.params.end() && found->first.compare(0, prefix.size(), prefix) == 0;
}

}  // namespace

const TensorInfo* Placement::find(std::string_view parameter) const {
  const auto found = params.find(parameter);
  if (found == params.end()) return nullptr;
  const auto whole = found->second.find(Part::whole);
  return whole == found->second.end() ? nullptr : whole->second;
}

void refuse_other_architectures(const Checkpoint& checkpoint) {
  if (checkpoint.config) refuse_by_config(*checkpoint.config);
  refuse_by_metadata(checkpoint.weights);
  for (const TensorInfo& tensor : checkpoint.weights.tensors) {
    for (const ForeignTensor& foreign : kForeignTensors) {
      if (contains(tensor.name, foreign.part)) {
        fail_input("{}: tensor {} belongs to {}; {}", checkpoint.weights.path, tensor.name, foreign.architecture,
                   kOnlyEsm2);
      }
    }
  }
}

Esm2Config derive_config(const Checkpoint& checkpoint, Naming naming, const Placement& placement,
                         const std::string& name, std::vector<std::string>& notes) {
  refuse_learned_positions(checkpoint, placement);
  const WeightFile& file = checkpoint.weights;
  const HfConfig given = checkpoint.config.value_or(HfConfig{});
  const auto size = [&](std::initializer_list<const char*> keys, std::optional<std::int64_t> from_config) {
    return first_of(metadata_number(file, keys), from_config);
  };

  Esm2Config config;
  config.layers = size({"cfg.model.encoder_layers", "args.layers", "num_layers"}, given.num_hidden_layers)
                      .value_or(layers_in(placement));
  const auto hidden = size({"cfg.model.encoder_embed_dim", "args.embed_dim", "embed_dim"}, given.hidden_size);
  config.hidden = hidden ? *hidden : axis_of(placement, "embed.weight", 1, file.path);
  const auto wide = size({"cfg.model.encoder_ffn_embed_dim", "args.ffn_embed_dim"}, given.intermediate_size);
  config.feed_forward = wide ? *wide : axis_of(placement, "layer.0.fc1.weight", 0, file.path);
  const auto heads =
      size({"cfg.model.encoder_attention_heads", "args.attention_heads", "attention_heads"}, given.num_attention_heads);
  check_sizes(config, file.path);
  config.heads = heads ? *heads : derive_heads(config, placement, name, file.path, notes);
  check_heads(config, file.path);
  config.vocabulary = derive_vocabulary(checkpoint.config, naming, axis_of(placement, "embed.weight", 0, file.path));
  check_vocabulary(config.vocabulary, file.path);

  if (given.layer_norm_eps) config.layer_norm_eps = static_cast<float>(*given.layer_norm_eps);
  const auto dropout = file.metadata.find("cfg.model.token_dropout");
  config.token_dropout =
      dropout != file.metadata.end() ? dropout->second == "true" : given.token_dropout.value_or(true);
  config.has_lm_head = has_any(placement, "lm_head.");
  config.has_contact_head = has_any(placement, "contact.");
  config.inv_freq = read_rotary(placement, config.head_width(), file.path);
  constexpr double kUsualBase = 10000;
  if (config.inv_freq.empty() && given.rope_theta.value_or(kUsualBase) != kUsualBase) {
    config.inv_freq = rotary_of_base(*given.rope_theta, config.head_width(), given.path);
  }
  return config;
}

}  // namespace biowarp
