#include "models/esm2_config.h"

#include <algorithm>
#include <numeric>

#include "base/fail.h"

namespace biowarp {
namespace {

std::int64_t elements(const ParamSpec& spec) {
  return std::accumulate(spec.shape.begin(), spec.shape.end(), std::int64_t{1}, std::multiplies<>());
}

// Collects rows of the table; `required` holds for all that follow.
struct Table {
  std::vector<ParamSpec> rows;
  bool required = true;

  void linear(const std::string& name, std::int64_t out, std::int64_t in) {
    rows.push_back({name + ".weight", {out, in}, ParamRole::weight, required});
    rows.push_back({name + ".bias", {out}, ParamRole::bias, required});
  }
  void norm(const std::string& name, std::int64_t width) {
    rows.push_back({name + ".weight", {width}, ParamRole::norm_weight, required});
    rows.push_back({name + ".bias", {width}, ParamRole::norm_bias, required});
  }
};

}  // namespace

const std::vector<Esm2Size>& esm2_sizes() {
  static const std::vector<Esm2Size> sizes{
      {"8M", "esm2_t6_8M_UR50D", 6, 320, 20},       {"35M", "esm2_t12_35M_UR50D", 12, 480, 20},
      {"150M", "esm2_t30_150M_UR50D", 30, 640, 20}, {"650M", "esm2_t33_650M_UR50D", 33, 1280, 20},
      {"3B", "esm2_t36_3B_UR50D", 36, 2560, 40},    {"15B", "esm2_t48_15B_UR50D", 48, 5120, 40},
  };
  return sizes;
}

std::optional<Esm2Size> find_esm2_size(std::string_view name) {
  for (const std::string_view owner : {"facebook/", "nvidia/"}) {
    if (name.substr(0, owner.size()) == owner) name.remove_prefix(owner.size());
  }
  for (const Esm2Size& size : esm2_sizes()) {
    if (name == size.name || name == size.full_name || name == fmt::format("t{}", size.layers)) return size;
  }
  return std::nullopt;
}

Esm2Config config_of(const Esm2Size& size) {
  Esm2Config config;
  config.layers = size.layers;
  config.hidden = size.hidden;
  config.heads = size.heads;
  config.feed_forward = 4 * size.hidden;
  config.has_lm_head = true;
  config.has_contact_head = true;
  return config;
}

std::vector<ParamSpec> esm2_params(const Esm2Config& config) {
  const std::int64_t C = config.hidden, F = config.feed_forward, V = config.vocabulary;
  Table table;
  table.rows.push_back({"embed.weight", {V, C}, ParamRole::embedding, true});
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const std::string layer = fmt::format("layer.{}.", i);
    table.norm(layer + "attn_norm", C);
    table.linear(layer + "qkv", 3 * C, C);
    table.linear(layer + "attn_out", C, C);
    table.norm(layer + "mlp_norm", C);
    table.linear(layer + "fc1", F, C);
    table.linear(layer + "fc2", C, F);
  }
  table.norm("final_norm", C);

  table.required = config.has_lm_head;
  table.linear("lm_head.dense", C, C);
  table.norm("lm_head.norm", C);
  table.rows.push_back({"lm_head.bias", {V}, ParamRole::bias, config.has_lm_head});
  table.rows.push_back({"lm_head.decoder.weight", {V, C}, ParamRole::weight, false});

  table.required = config.has_contact_head;
  table.rows.push_back({"contact.weight", {config.layers * config.heads}, ParamRole::weight, config.has_contact_head});
  table.rows.push_back({"contact.bias", {1}, ParamRole::bias, config.has_contact_head});
  return table.rows;
}

std::int64_t count_parameters(const Esm2Config& config) {
  std::int64_t sum = 0;
  for (const ParamSpec& spec : esm2_params(config)) sum += spec.required ? elements(spec) : 0;
  return sum;
}

}  // namespace biowarp
