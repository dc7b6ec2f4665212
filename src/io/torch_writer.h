// torch.save files (.pt): a zip with a pickle and one member per tensor storage, as torch >= 1.6 writes them.
// torch.load(weights_only=True) reads them: only dictionaries, texts, integers and f32 tensors occur.
// Source: torch/serialization.py (_save), torch/_utils.py (_rebuild_tensor_v2), CPython's pickletools
// (protocol 2).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace biowarp {

struct TorchTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // row-major
};

struct TorchDict;
using TorchValue = std::variant<std::string, std::int64_t, TorchTensor, TorchDict>;

// A Python dict: keys are texts or integers, order is kept.
struct TorchDict {
  std::vector<std::pair<std::variant<std::string, std::int64_t>, TorchValue>> items;
};

// Atomic; same dictionary, same bytes.
void write_torch_file(const std::string& path, const TorchDict& dict);

}  // namespace biowarp
