// Checkpoint: the files of one model on disk, opened, before anything is known about their meaning.
#pragma once

#include <optional>
#include <string>

#include "io/hf_config.h"
#include "io/weight_file.h"

namespace biowarp {

struct CheckpointFiles {
  std::string weights;             // a weight file or an index of shards; empty: the folder holds only an adapter
  std::string config;              // config.json; empty: none
  std::string contact_regression;  // fair-esm's second file; empty: none
  std::string adapter;             // folder with adapter_config.json; empty: none
};

// `path` is a folder or a file. Throws Error(input) saying what a folder was searched for.
CheckpointFiles find_checkpoint_files(const std::string& path);

struct Checkpoint {
  WeightFile weights;  // contact regression included
  std::optional<HfConfig> config;
};
Checkpoint open_checkpoint(const CheckpointFiles& files);

}  // namespace biowarp
