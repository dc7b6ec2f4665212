// Writer of safetensors files: the header first, then tensor after tensor, so that a file of any size passes through
// little memory. Format: see safetensors.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "biowarp/types.h"
#include "io/file.h"

namespace biowarp {

struct PlannedTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;

  std::int64_t elements() const;
};

class SafetensorsWriter {
 public:
  // Writes the header. The file gets its name with finish().
  SafetensorsWriter(const std::string& path, const std::vector<PlannedTensor>& tensors,
                    const std::map<std::string, std::string>& metadata);

  // The next bytes of the data, in the order of the plan.
  void write(const void* data, std::size_t bytes);

  // Asserts that all data were written.
  void finish();

 private:
  AtomicFile file_;
  std::int64_t end_ = 0;
};

}  // namespace biowarp
