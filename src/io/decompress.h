// Decompression of a ByteStream. See byte_stream.h for the formats.
#pragma once

#include <memory>
#include <string>

#include "io/byte_stream.h"

namespace biowarp {

// `source` itself when its first bytes are of no known compression. Throws Error(input) for bzip2, xz and
// zip, which are not read. `name` stands for the input in errors.
std::unique_ptr<ByteStream> decompressed(std::unique_ptr<ByteStream> source, const std::string& name);

}  // namespace biowarp
