// Weight files, settings and adapters that nobody vouches for. Each input becomes a file in memory, since the readers
// map what they read.
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "biowarp/error.h"
#include "io/hf_config.h"
#include "io/weight_file.h"
#include "targets.h"

namespace biowarp::fuzz {
namespace {

// A file without a name on any disk, as long as the object lives.
class MemoryFile {
 public:
  explicit MemoryFile(Bytes bytes) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error("no memory file");
    const auto written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written != static_cast<ssize_t>(bytes.size())) throw std::runtime_error("memory file is short");
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// Touches the first and the last element of every tensor: both must lie in the file.
void touch(const WeightFile& file) {
  for (const TensorInfo& tensor : file.tensors) {
    if (tensor.elements() == 0) continue;
    const auto size = static_cast<std::int64_t>(size_of(tensor.dtype));
    std::int64_t last = 0;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      last += (tensor.shape[axis] - 1) * tensor.strides[axis];
    }
    volatile std::byte seen = tensor.data[0];
    seen = tensor.data[(last + 1) * size - 1];
    (void)seen;
  }
}

}  // namespace

void fuzz_safetensors(Bytes bytes) {
  const MemoryFile file(bytes);
  touch(open_weight_file(file.path()));
}

void fuzz_torch(Bytes bytes) {
  const MemoryFile file(bytes);
  touch(open_weight_file(file.path()));
}

void fuzz_config(Bytes bytes) {
  const MemoryFile file(bytes);
  try {
    read_lora_config(file.path());
  } catch (const Error&) {
  }
  read_hf_config(file.path());
}

}  // namespace biowarp::fuzz
