// For tests: the checkpoints of tests/golden, and edited copies of them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "biowarp/error.h"
#include "io/safetensors_writer.h"
#include "io/weight_file.h"
#include "models/open_model.h"

namespace biowarp::testing_checkpoints {

inline std::string golden(const std::string& name) {
  return std::string(BIOWARP_SOURCE_DIR "/tests/golden/checkpoints/") + name;
}

// A folder that lives as long as the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "checkpoint-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct OwnedTensor {
  PlannedTensor plan;
  std::string bytes;
};

// Copies of the tensors of a file whose tensors are contiguous.
inline std::vector<OwnedTensor> tensors_of(const std::string& path) {
  std::vector<OwnedTensor> result;
  const WeightFile file = open_weight_file(path);
  for (const TensorInfo& tensor : file.tensors) {
    const std::size_t bytes = static_cast<std::size_t>(tensor.elements()) * size_of(tensor.dtype);
    result.push_back(
        {{tensor.name, tensor.dtype, tensor.shape}, std::string(reinterpret_cast<const char*>(tensor.data), bytes)});
  }
  return result;
}

inline void save(const std::string& path, const std::vector<OwnedTensor>& tensors,
                 const std::map<std::string, std::string>& metadata = {}) {
  std::vector<PlannedTensor> plan;
  for (const OwnedTensor& tensor : tensors) plan.push_back(tensor.plan);
  SafetensorsWriter writer(path, plan, metadata);
  for (const OwnedTensor& tensor : tensors) writer.write(tensor.bytes.data(), tensor.bytes.size());
  writer.finish();
}

// The tensor of that name in a list of copies.
inline OwnedTensor& named(std::vector<OwnedTensor>& tensors, const std::string& name) {
  for (OwnedTensor& tensor : tensors) {
    if (tensor.plan.name == name) return tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

inline OwnedTensor zeros(const std::string& name, std::vector<std::int64_t> shape, DType dtype = DType::f32) {
  OwnedTensor tensor{{name, dtype, std::move(shape)}, {}};
  tensor.bytes.assign(static_cast<std::size_t>(tensor.plan.elements()) * size_of(dtype), '\0');
  return tensor;
}

// All values of a parameter.
inline std::vector<float> values(const OpenedModel& model, const ParamSpec& spec) {
  std::int64_t count = 1;
  for (const std::int64_t size : spec.shape) count *= size;
  std::vector<float> result(static_cast<std::size_t>(count));
  model.params->read(spec.name, 0, spec.shape[0], result.data());
  return result;
}

inline OpenedModel open(const std::string& path) { return open_model({path, "", "", false}); }

// The message of the error that opening `path` ends with; empty when it does not.
inline std::string error_of(const OpenModelOptions& options) {
  try {
    open_model(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
inline std::string error_of(const std::string& path) { return error_of(OpenModelOptions{path, "", "", false}); }

}  // namespace biowarp::testing_checkpoints
