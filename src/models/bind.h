// Binding: from the tensors of a checkpoint to our parameters, with every misfit in one list.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/settings.h"
#include "models/stored_params.h"

namespace biowarp {

// Sorts the tensors of a checkpoint by meaning. Throws Error(input) when two tensors claim the same place and
// differ.
Placement place_tensors(const Checkpoint& checkpoint, Naming naming);

// What adapters add, by parameter and part.
using UpdatePlace = std::pair<std::string, Part>;
using UpdateMap = std::map<UpdatePlace, std::shared_ptr<const LowRankUpdate>>;

struct BindOptions {
  bool interleaved_qkv = true;  // order of a fused QKV
  UpdateMap updates;
};

// Every parameter of `config`, or Error(input) with the full list of missing, unexpected and misshapen
// tensors (S44). A decoder equal to the embedding is left out: it is tied.
std::map<std::string, StoredParam, std::less<>> bind_params(const Checkpoint& checkpoint, Naming naming,
                                                            const Placement& placement, const Esm2Config& config,
                                                            const BindOptions& options);

}  // namespace biowarp
