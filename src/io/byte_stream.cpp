#include "io/byte_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fail.h"
#include "io/decompress.h"

namespace biowarp {
namespace {

class DescriptorStream : public ByteStream {
 public:
  DescriptorStream(int descriptor, bool owned, std::string name)
      : descriptor_(descriptor), owned_(owned), name_(std::move(name)) {}
  ~DescriptorStream() override {
    if (owned_) close(descriptor_);
  }
  DescriptorStream(const DescriptorStream&) = delete;
  DescriptorStream& operator=(const DescriptorStream&) = delete;

  std::size_t read(char* out, std::size_t capacity) override {
    for (;;) {
      const ssize_t done = ::read(descriptor_, out, capacity);
      if (done >= 0) return static_cast<std::size_t>(done);
      if (errno != EINTR) fail_input("cannot read {}: {}", name_, std::strerror(errno));
    }
  }

 private:
  int descriptor_;
  bool owned_;
  std::string name_;
};

class MemoryStream : public ByteStream {
 public:
  explicit MemoryStream(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::size_t read(char* out, std::size_t capacity) override {
    const std::size_t count = std::min(capacity, rest_.size());
    std::copy_n(reinterpret_cast<const char*>(rest_.data()), count, out);
    rest_ = rest_.subspan(count);
    return count;
  }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace

std::string name_of_input(const std::string& path) { return path == "-" ? "standard input" : path; }

std::unique_ptr<ByteStream> open_bytes(const std::string& path) {
  const std::string name = name_of_input(path);
  if (path == "-") return decompressed(std::make_unique<DescriptorStream>(STDIN_FILENO, false, name), name);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_input("cannot open {}: {}", name, std::strerror(errno));
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  return decompressed(std::make_unique<DescriptorStream>(descriptor, true, name), name);
}

std::unique_ptr<ByteStream> memory_bytes(std::span<const std::byte> bytes, const std::string& name) {
  return decompressed(std::make_unique<MemoryStream>(bytes), name);
}

}  // namespace biowarp
