// Which files of a repository make a model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace biowarp {

struct HubFiles {
  std::vector<std::string> files;
  std::string index;  // one of `files` that lists shards to be added, or empty
};

// From all names in a repository: configuration, vocabulary and one form of the weights, the first of
// model.safetensors, its index, pytorch_model.bin, its index; or a PEFT adapter. `repo` stands for the repository in
// errors; Error(input) when it holds no model.
HubFiles choose_hub_files(const std::vector<std::string>& names, const std::string& repo);

// Names of the shards in an index file ("weight_map": tensor -> file), each once, sorted. Throws Error(input) when a
// shard is not among `names`.
std::vector<std::string> shards_of(std::string_view index_json, const std::string& index,
                                   const std::vector<std::string>& names);

}  // namespace biowarp
