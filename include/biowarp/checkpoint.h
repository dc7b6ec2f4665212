// Looking into checkpoints and writing them under other names. Nothing here runs a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "biowarp/export.h"
#include "biowarp/model.h"
#include "biowarp/types.h"

namespace biowarp {

// One parameter under biowarp's name; Q, K and V count as one.
struct ParameterInfo {
  std::string name;
  std::vector<std::int64_t> shape;
  DType stored = DType::f32;  // type in the file; f32 for parts of different types and for merged adapters
};

struct CheckpointInfo {
  // Fields that need a loaded model (weight_bytes, precision, device, threads) are empty.
  ModelInfo model;
  double layer_norm_eps = 0;
  bool token_dropout = true;
  bool stored_rotary = false;  // rotary frequencies come from the checkpoint, not from the formula
  std::vector<ParameterInfo> parameters;
  // About how many bytes the weights take in memory in each precision.
  std::vector<std::pair<Precision, std::int64_t>> memory;
};

// Opens a model as Model::load does, without packing its weights. `options` gives name, revision and adapter.
BIOWARP_API CheckpointInfo inspect_checkpoint(const ModelOptions& options);

enum class CheckpointFormat : std::uint8_t { hf, nv_esm };
BIOWARP_API std::string_view name_of(CheckpointFormat format);
// Throws Error(usage) with the known names.
BIOWARP_API CheckpointFormat parse_checkpoint_format(std::string_view text);

struct ConvertOptions {
  ModelOptions source;      // name, revision, adapter
  std::string destination;  // a folder that does not exist yet
  CheckpointFormat format = CheckpointFormat::hf;
  std::optional<DType> dtype;  // f32, f16 or bf16; nothing: every tensor as it is stored
  Progress progress;           // called with (bytes done, bytes in all)
};

struct ConvertReport {
  std::int64_t tensors = 0, bytes = 0;
  std::vector<std::string> notes;  // what the source or the new format does not hold
};

// Writes model.safetensors, config.json and the tokenizer's files. The folder appears under its name when it is whole.
// Memory does not grow with the model. Throws Error(input) for values that the new type cannot hold.
BIOWARP_API ConvertReport convert_checkpoint(const ConvertOptions& options);

}  // namespace biowarp
