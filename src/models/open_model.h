// From what a person types after --model to a configuration and its parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/esm2_config.h"
#include "models/param_source.h"

namespace biowarp {

struct OpenModelOptions {
  std::string name;      // hub name, short name, folder, file, "random:650M[:seed]"; empty: the demonstration model
  std::string revision;  // hub revision; empty: main
  std::string adapter;   // PEFT LoRA folder merged into the weights; empty: none
  bool tanh_gelu = false;
};

struct OpenedModel {
  Esm2Config config;
  std::shared_ptr<const ParamSource> params;
  std::string name;                // as a person would call it
  std::string path;                // folder or file; empty for random weights
  std::string format;              // "hf", "nv_esm", "fair-esm", "esme", "state_dict", "random"
  bool demonstration = false;      // chosen because no name was given
  std::vector<std::string> notes;  // what a person should know: missing heads, ignored tensors
};

// Throws Error(input) with the full list of missing, unexpected and misshapen tensors; Error(usage) for a name that
// is nowhere to be found, saying where was looked and what to do.
OpenedModel open_model(const OpenModelOptions& options);

}  // namespace biowarp
