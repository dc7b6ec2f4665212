#include "models/naming.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/fail.h"

namespace biowarp {
namespace {

using std::string_view;

// ---- tables ----

constexpr string_view kHfPrefixes[] = {"module.", "_orig_mod.", "base_model.model.", "model.", "esm."};
constexpr NameRow kHfRows[] = {
    {"embeddings.word_embeddings.weight", "embed.weight"},
    {"encoder.layer.*.attention.LayerNorm.", "layer.*.attn_norm."},
    {"encoder.layer.*.attention.self.query.", "layer.*.qkv.", Part::query},
    {"encoder.layer.*.attention.self.key.", "layer.*.qkv.", Part::key},
    {"encoder.layer.*.attention.self.value.", "layer.*.qkv.", Part::value},
    {"encoder.layer.*.attention.output.dense.", "layer.*.attn_out."},
    {"encoder.layer.*.LayerNorm.", "layer.*.mlp_norm."},
    {"encoder.layer.*.intermediate.dense.", "layer.*.fc1."},
    {"encoder.layer.*.output.dense.", "layer.*.fc2."},
    {"encoder.emb_layer_norm_after.", "final_norm."},
    {"lm_head.dense.", "lm_head.dense."},
    {"lm_head.layer_norm.", "lm_head.norm."},
    {"lm_head.decoder.weight", "lm_head.decoder.weight"},
    {"lm_head.bias", "lm_head.bias"},
    {"lm_head.decoder.bias", "lm_head.bias"},
    {"contact_head.regression.", "contact."},
};
constexpr string_view kHfIgnored[] = {"embeddings.position_embeddings.weight", "embeddings.position_ids",
                                      "pooler.dense.weight", "pooler.dense.bias"};

constexpr string_view kNvPrefixes[] = {"module.", "_orig_mod.", "base_model.model.", "model.", "esm."};
constexpr NameRow kNvRows[] = {
    {"embeddings.word_embeddings.weight", "embed.weight"},
    {"encoder.layers.*.self_attention.layernorm_qkv.layer_norm_", "layer.*.attn_norm."},
    {"encoder.layers.*.self_attention.layernorm_qkv.", "layer.*.qkv.", Part::fused},
    {"encoder.layers.*.self_attention.layernorm_qkv.query_", "layer.*.qkv.", Part::query},
    {"encoder.layers.*.self_attention.layernorm_qkv.key_", "layer.*.qkv.", Part::key},
    {"encoder.layers.*.self_attention.layernorm_qkv.value_", "layer.*.qkv.", Part::value},
    {"encoder.layers.*.self_attention.proj.", "layer.*.attn_out."},
    {"encoder.layers.*.layernorm_mlp.layer_norm_", "layer.*.mlp_norm."},
    {"encoder.layers.*.layernorm_mlp.fc1_", "layer.*.fc1."},
    {"encoder.layers.*.layernorm_mlp.fc2_", "layer.*.fc2."},
    {"encoder.emb_layer_norm_after.", "final_norm."},
    {"lm_head.dense.", "lm_head.dense."},
    {"lm_head.decoder.layer_norm_", "lm_head.norm."},
    {"lm_head.decoder.weight", "lm_head.decoder.weight"},
    {"lm_head.decoder.bias", "lm_head.bias"},
};
constexpr string_view kNvIgnored[] = {"embeddings.position_embeddings.weight", "embeddings.position_ids",
                                      "pooler.dense.weight", "pooler.dense.bias"};

constexpr string_view kFairPrefixes[] = {"module.",  "_orig_mod.",       "model.", "encoder.sentence_encoder.",
                                         "encoder.", "sentence_encoder."};
constexpr NameRow kFairRows[] = {
    {"embed_tokens.weight", "embed.weight"},
    {"layers.*.self_attn_layer_norm.", "layer.*.attn_norm."},
    {"layers.*.self_attn.q_proj.", "layer.*.qkv.", Part::query},
    {"layers.*.self_attn.k_proj.", "layer.*.qkv.", Part::key},
    {"layers.*.self_attn.v_proj.", "layer.*.qkv.", Part::value},
    {"layers.*.self_attn.out_proj.", "layer.*.attn_out."},
    {"layers.*.final_layer_norm.", "layer.*.mlp_norm."},
    {"layers.*.fc1.", "layer.*.fc1."},
    {"layers.*.fc2.", "layer.*.fc2."},
    {"emb_layer_norm_after.", "final_norm."},
    {"lm_head.dense.", "lm_head.dense."},
    {"lm_head.layer_norm.", "lm_head.norm."},
    {"lm_head.weight", "lm_head.decoder.weight"},
    {"lm_head.bias", "lm_head.bias"},
    {"contact_head.regression.", "contact."},
};
constexpr string_view kFairIgnored[] = {"version"};

constexpr string_view kEsmePrefixes[] = {"module.", "_orig_mod.", "model."};
constexpr NameRow kEsmeRows[] = {
    {"embed_tokens.weight", "embed.weight"},
    {"layers.*.self_attn.norm.", "layer.*.attn_norm."},
    {"layers.*.self_attn.q.", "layer.*.qkv.", Part::query},
    {"layers.*.self_attn.k.", "layer.*.qkv.", Part::key},
    {"layers.*.self_attn.v.", "layer.*.qkv.", Part::value},
    {"layers.*.self_attn.out.", "layer.*.attn_out."},
    {"layers.*.final.0.", "layer.*.mlp_norm."},
    {"layers.*.final.1.", "layer.*.fc1."},
    {"layers.*.final.3.", "layer.*.fc2."},
    {"emb_layer_norm_after.", "final_norm."},
    {"lm_head.dense.", "lm_head.dense."},
    {"lm_head.layer_norm.", "lm_head.norm."},
    {"lm_head.final.weight", "lm_head.decoder.weight"},
    {"lm_head.final.bias", "lm_head.bias"},
    {"contact_head.regression.", "contact."},
};

constexpr std::array<NamingTable, 4> kTables{{
    {Naming::hf, "hf", kHfPrefixes, kHfRows, kHfIgnored},
    {Naming::nv_esm, "nv_esm", kNvPrefixes, kNvRows, kNvIgnored},
    {Naming::fair_esm, "fair-esm", kFairPrefixes, kFairRows, kFairIgnored},
    {Naming::esme, "esme", kEsmePrefixes, kEsmeRows, {}},
}};

// Buffers of any naming: rotary frequencies under every layer or once, TransformerEngine's scaling state, and
// the heads of sequence and token classifiers.
constexpr string_view kRotarySuffixes[] = {"rotary_embeddings.inv_freq", "rot_emb.inv_freq"};
constexpr string_view kIgnoredSuffix = "_extra_state";
constexpr string_view kClassifierPrefix = "classifier.";

// ---- matching ----

bool ends_with(string_view text, string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}
bool starts_with(string_view text, string_view prefix) { return text.substr(0, prefix.size()) == prefix; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Whether `text` is `pattern` with a number for '*'; the number goes into `layer`.
bool matches(string_view pattern, string_view text, string_view& layer) {
  const std::size_t star = pattern.find('*');
  if (star == string_view::npos) return pattern == text;
  if (!starts_with(text, pattern.substr(0, star))) return false;
  text.remove_prefix(star);
  const std::size_t digits =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
  if (digits == 0 || digits > 6 || (digits > 1 && text[0] == '0')) return false;
  layer = text.substr(0, digits);
  return text.substr(digits) == pattern.substr(star + 1);
}

std::string with_layer(string_view pattern, string_view layer) {
  const std::size_t star = pattern.find('*');
  if (star == string_view::npos) return std::string(pattern);
  return fmt::format("{}{}{}", pattern.substr(0, star), layer, pattern.substr(star + 1));
}

constexpr string_view kEndings[] = {"weight", "bias"};
bool is_stem(string_view name) { return name.back() == '.' || name.back() == '_'; }

// Calls body(stored, ours) for the one or two full names of a row, until it returns true.
template <class Body>
bool any_name(const NameRow& row, Body&& body) {
  if (!is_stem(row.stored)) return body(std::string(row.stored), std::string(row.ours));
  for (const string_view ending : kEndings) {
    if (body(std::string(row.stored).append(ending), std::string(row.ours).append(ending))) return true;
  }
  return false;
}

// LayerNorm.gamma / .beta, as transformers 5 writes them, under the usual names.
std::string modern_name(string_view stored) {
  for (const auto& [old, modern] : {std::pair<string_view, string_view>{"LayerNorm.gamma", "LayerNorm.weight"},
                                    {"LayerNorm.beta", "LayerNorm.bias"}}) {
    if (ends_with(stored, old)) return std::string(stored.substr(0, stored.size() - old.size())).append(modern);
  }
  return std::string(stored);
}

Resolved resolve_exact(const NamingTable& table, string_view name) {
  Resolved result;
  for (const NameRow& row : table.rows) {
    const bool found = any_name(row, [&](const std::string& stored, const std::string& ours) {
      string_view layer;
      if (!matches(stored, name, layer)) return false;
      result = {Use::parameter, with_layer(ours, layer), row.part};
      return true;
    });
    if (found) return result;
  }
  if (std::find(table.ignored.begin(), table.ignored.end(), name) != table.ignored.end()) result.use = Use::ignored;
  if (starts_with(name, kClassifierPrefix)) result.use = Use::classifier;
  return result;
}

}  // namespace

const NamingTable& table_of(Naming naming) { return kTables[static_cast<std::size_t>(naming)]; }

Resolved resolve(const NamingTable& table, string_view stored) {
  for (const string_view suffix : kRotarySuffixes) {
    if (ends_with(stored, suffix)) return {Use::rotary, {}, Part::whole};
  }
  if (ends_with(stored, kIgnoredSuffix)) return {Use::ignored, {}, Part::whole};

  const std::string modern = modern_name(stored);
  string_view name = modern;
  while (true) {
    const Resolved result = resolve_exact(table, name);
    if (result.use != Use::unknown) return result;
    const auto prefix =
        std::find_if(table.prefixes.begin(), table.prefixes.end(), [&](string_view p) { return starts_with(name, p); });
    if (prefix == table.prefixes.end()) return {};
    name.remove_prefix(prefix->size());
  }
}

std::string stored_name(const NamingTable& table, string_view parameter, Part part) {
  std::string result;
  for (const NameRow& row : table.rows) {
    if (row.part != part) continue;
    const bool found = any_name(row, [&](const std::string& stored, const std::string& ours) {
      string_view layer;
      if (!matches(ours, parameter, layer)) return false;
      result = with_layer(stored, layer);
      return true;
    });
    if (found) break;
  }
  return result;
}

std::optional<Naming> recognise_naming(std::span<const TensorInfo> tensors) {
  constexpr string_view kSignature = "layer.0.fc1.weight";
  for (const NamingTable& table : kTables) {
    const auto fits = [&](const TensorInfo& tensor) { return resolve(table, tensor.name).parameter == kSignature; };
    if (std::any_of(tensors.begin(), tensors.end(), fits)) return table.naming;
  }
  return std::nullopt;
}

}  // namespace biowarp
