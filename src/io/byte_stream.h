// Streams of bytes, decompressed by what they hold: gzip (RFC 1952, several members, bgzip) and zstd (RFC
// 8878, several frames) are told by their first bytes, whatever the name. Memory does not grow with the
// input.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace biowarp {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills at most `capacity` bytes; 0 only at the end. Throws Error(input) that names the input when it
  // cannot be read, is cut off or is damaged.
  virtual std::size_t read(char* out, std::size_t capacity) = 0;
};

// A file, or standard input for "-".
std::unique_ptr<ByteStream> open_bytes(const std::string& path);

// Bytes in memory, which must outlive the stream; `name` stands for them in errors.
std::unique_ptr<ByteStream> memory_bytes(std::span<const std::byte> bytes, const std::string& name);

// "standard input" for "-", else the path.
std::string name_of_input(const std::string& path);

}  // namespace biowarp
