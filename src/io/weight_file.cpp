#include "io/weight_file.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/fail.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "io/torch_file.h"

namespace biowarp {
namespace {

namespace fs = std::filesystem;

bool starts_with(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::equal(text.begin(), text.end(), bytes.begin(),
                                                   [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

// Formats that are told by their first bytes and refused, each with the way out.
struct ForeignFormat {
  std::string_view magic;
  const char* advice;
};
constexpr ForeignFormat kForeign[] = {
    {"version https://git-lfs.github.com/spec/",
     "it is a Git LFS pointer, not the weights; run `git lfs pull`, or fetch the model with `biowarp pull`"},
    {"\x89HDF\r\n",
     "it is an HDF5 file (TensorFlow weights); load it with transformers (from_tf=True) and save it again "
     "as safetensors"},
    {"GGUF", "it is a GGUF file; give the safetensors or torch checkpoint it was made from"},
    {"\x93NUMPY", "it is a NumPy array; give a safetensors or torch checkpoint"},
    {"<!DOCTYPE", "it is a web page, not weights: a download went wrong"},
    {"<html", "it is a web page, not weights: a download went wrong"},
};

}  // namespace

std::int64_t TensorInfo::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

bool TensorInfo::contiguous() const {
  std::int64_t expected = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

std::string describe_shape(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

const TensorInfo* WeightFile::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const TensorInfo& t) { return t.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

WeightFile open_weight_file(const std::string& path) {
  const MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.empty()) fail_input("{}: the file is empty", path);
  for (const ForeignFormat& format : kForeign) {
    if (starts_with(bytes, format.magic)) fail_input("{}: {}", path, format.advice);
  }
  if (looks_like_safetensors(bytes)) return open_safetensors(file);
  if (looks_like_torch(bytes)) return open_torch_file(file);
  fail_input("{}: neither a safetensors nor a torch file", path);
}

WeightFile open_sharded_weights(const std::string& index_path) {
  const nlohmann::json index = parse_json(read_text(index_path), index_path);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    fail_input("{}: no \"weight_map\"", index_path);
  }
  std::map<std::string, std::set<std::string>> shards;  // file -> the tensors it must hold
  for (const auto& [tensor, shard] : index["weight_map"].items()) {
    if (!shard.is_string()) fail_input("{}: tensor {} names no file", index_path, tensor);
    const std::string name = shard.get<std::string>();
    if (name.empty() || fs::path(name).filename() != name || name == "..") {
      fail_input("{}: tensor {} names \"{}\", expected a file name in the same folder", index_path, tensor, name);
    }
    shards[name].insert(tensor);
  }
  WeightFile result;
  result.path = index_path;
  for (const auto& [name, tensors] : shards) {
    WeightFile shard = open_weight_file((fs::path(index_path).parent_path() / name).string());
    for (TensorInfo& tensor : shard.tensors) {
      if (tensors.count(tensor.name) == 0) {
        fail_input("{}: tensor {} is in {}, where the index does not expect it", index_path, tensor.name, name);
      }
      result.tensors.push_back(std::move(tensor));
    }
    if (shard.tensors.size() != tensors.size()) {
      for (const std::string& tensor : tensors) {
        const auto same = [&](const TensorInfo& t) { return t.name == tensor; };
        if (std::none_of(result.tensors.begin(), result.tensors.end(), same)) {
          fail_input("{}: tensor {} is missing in {}", index_path, tensor, name);
        }
      }
    }
    result.metadata.insert(shard.metadata.begin(), shard.metadata.end());
    result.maps.insert(result.maps.end(), shard.maps.begin(), shard.maps.end());
  }
  return result;
}

}  // namespace biowarp
