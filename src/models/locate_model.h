// Where a model is that a person calls by name.
#pragma once

#include <cstdint>
#include <string>

#include "models/esm2_config.h"

namespace biowarp {

struct ModelLocation {
  std::string name;            // as a person would call it
  std::string path;            // folder or file; empty for random weights
  bool demonstration = false;  // the shipped model, because no name was given
  Esm2Config random_config;    // with `path` empty
  std::uint64_t random_seed = 0;
};

// Order: nothing given -> the demonstration model; "random:SIZE[:seed]"; an existing path; the demonstration
// model's name; the Hugging Face cache (full and short names). Throws Error(usage) saying where was looked
// and what to do.
ModelLocation locate_model(const std::string& name, const std::string& revision);

}  // namespace biowarp
