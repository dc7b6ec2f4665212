// PEFT LoRA adapters, merged while weights are read: W + (alpha / r) B A, with rsLoRA alpha / sqrt(r).
//
// Files: adapter_config.json and adapter_model.safetensors or .bin (peft, "Checkpoint format").
#pragma once

#include <string>
#include <vector>

#include "models/bind.h"
#include "models/settings.h"

namespace biowarp {

struct Adapter {
  std::string path;
  LoraConfig config;
  WeightFile weights;
};

// `folder` may also name the weight file. Throws Error(input) for adapters that are no LoRA or of a kind whose
// merging needs more than A and B (DoRA, PiSSA, OLoRA, CorDA, LoftQ).
Adapter open_adapter(const std::string& folder);

// The update of every matrix that the adapter targets; parameters it carries whole (modules_to_save, biases) replace
// those of `placement`. Heads of classifiers are left out with a note. Throws Error(input) with the full list of
// targets that the model does not have and of matrices that do not fit.
UpdateMap apply_adapter(const Adapter& adapter, const Esm2Config& config, Placement& placement,
                        std::vector<std::string>& notes);

}  // namespace biowarp
