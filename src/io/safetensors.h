// Reader of the safetensors format.
//
// Layout: u64 little-endian length of the header, the header (JSON: name -> {dtype, shape, data_offsets}, and
// "__metadata__": text -> text), then the data. The offsets of all tensors together must cover the data
// exactly once. Source: https://github.com/huggingface/safetensors (README, "Format").
#pragma once

#include "io/weight_file.h"

namespace biowarp {

// True when the bytes can only be meant as safetensors.
bool looks_like_safetensors(std::span<const std::byte> bytes);

// Throws Error(input) naming file and tensor for anything that breaks the format.
WeightFile open_safetensors(const MappedFile& file);

}  // namespace biowarp
