// WeightFile: the tensors of one checkpoint file, whatever its format, mapped and not copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "biowarp/types.h"
#include "io/file.h"

namespace biowarp {

// One tensor inside a mapped file. Shape and strides in elements; `data` may be unaligned.
struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  const std::byte* data = nullptr;  // first element

  std::int64_t elements() const;
  bool contiguous() const;  // row-major without gaps
};

// "[33, 320]"
std::string describe_shape(const std::vector<std::int64_t>& shape);
// Strides of a row-major tensor without gaps.
std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& shape);

struct WeightFile {
  std::string path;
  std::vector<TensorInfo> tensors;  // in file order, names unique
  // Text beside the tensors: safetensors' __metadata__; for torch files every number, string and boolean
  // outside the state dict under its dotted path ("cfg.model.encoder_layers" -> "33").
  std::map<std::string, std::string> metadata;
  std::vector<MappedFile> maps;  // keep `data` alive

  const TensorInfo* find(std::string_view name) const;
};

// Opens a safetensors or torch file, told by its first bytes. Formats that biowarp does not read (TensorFlow,
// ONNX, GGUF, legacy torch, TorchScript, a Git LFS pointer) are named in the error together with what to do.
// Throws Error(input).
WeightFile open_weight_file(const std::string& path);

// Opens all files that an index (`model.safetensors.index.json`, `pytorch_model.bin.index.json`) lists, as
// one. Every tensor must stand in the shard that the index names.
WeightFile open_sharded_weights(const std::string& index_path);

}  // namespace biowarp
