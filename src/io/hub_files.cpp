#include "io/hub_files.h"

#include <algorithm>
#include <initializer_list>
#include <set>

#include "base/fail.h"
#include "io/json.h"

namespace biowarp {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// First of `wanted` that the repository has, or empty.
std::string first_of(std::initializer_list<const char*> wanted, const std::vector<std::string>& names) {
  for (const char* name : wanted) {
    if (contains(names, name)) return name;
  }
  return "";
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

HubFiles choose_hub_files(const std::vector<std::string>& names, const std::string& repo) {
  const std::string config = first_of({"config.json", "adapter_config.json"}, names);
  const std::string weights = config == "adapter_config.json"
                                  ? first_of({"adapter_model.safetensors", "adapter_model.bin"}, names)
                                  : first_of({"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                                              "pytorch_model.bin.index.json"},
                                             names);
  if (config.empty() || weights.empty()) {
    fail_input("expected {} to hold config.json and model.safetensors or pytorch_model.bin; it holds {}", repo,
               names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", ")));
  }
  HubFiles chosen{{config}, ends_with(weights, ".index.json") ? weights : ""};
  for (const char* name :
       {"vocab.txt", "tokenizer_config.json", "special_tokens_map.json", "tokenizer.json", "added_tokens.json"}) {
    if (contains(names, name)) chosen.files.emplace_back(name);
  }
  chosen.files.push_back(weights);
  return chosen;
}

std::vector<std::string> shards_of(std::string_view index_json, const std::string& index,
                                   const std::vector<std::string>& names) {
  const nlohmann::json json = parse_json(index_json, index);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    fail_input("expected {} to have an object 'weight_map'", index);
  }
  std::set<std::string> shards;
  for (const auto& [tensor, file] : json["weight_map"].items()) {
    if (!file.is_string() || !contains(names, file.get<std::string>())) {
      fail_input("{} places tensor '{}' in {}, which the repository does not hold", index, tensor, file.dump());
    }
    shards.insert(file.get<std::string>());
  }
  return {shards.begin(), shards.end()};
}

}  // namespace biowarp
