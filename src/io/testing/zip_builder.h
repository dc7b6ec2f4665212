// For tests: zip archives of stored entries, whole or damaged on purpose.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace biowarp::testing_zip {

// Without the flush to disk of write_text, which thousands of files would wait for.
inline void write_quickly(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

struct ZipOptions {
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  bool zip64 = false;  // sizes and offsets only in the zip64 fields
  std::string comment = {};
};

inline std::string zip_of(const std::vector<std::pair<std::string, std::string>>& entries,
                          const ZipOptions& options = {}) {
  std::string out, directory;
  for (const auto& [name, data] : entries) {
    const std::uint64_t local = out.size();
    put(out, 0x04034b50, 4);
    put(out, 20, 2);
    put(out, options.flags, 2);
    put(out, options.method, 2);
    put(out, 0, 8);  // time, date, checksum
    put(out, data.size(), 4);
    put(out, data.size(), 4);
    put(out, name.size(), 2);
    put(out, 3, 2);  // an extra field, so that data do not follow the name
    out += name + "pad" + data;

    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);
    put(directory, 20, 2);
    put(directory, options.flags, 2);
    put(directory, options.method, 2);
    put(directory, 0, 8);
    put(directory, options.zip64 ? 0xffffffff : data.size(), 4);
    put(directory, options.zip64 ? 0xffffffff : data.size(), 4);
    put(directory, name.size(), 2);
    put(directory, options.zip64 ? 28 : 0, 2);
    put(directory, 0, 2);
    put(directory, 0, 8);
    put(directory, options.zip64 ? 0xffffffff : local, 4);
    directory += name;
    if (!options.zip64) continue;
    put(directory, 1, 2);
    put(directory, 24, 2);
    put(directory, data.size(), 8);
    put(directory, data.size(), 8);
    put(directory, local, 8);
  }
  const std::uint64_t start = out.size();
  out += directory;
  if (options.zip64) {
    const std::uint64_t end64 = out.size();
    put(out, 0x06064b50, 4);
    put(out, 44, 8);
    put(out, 45, 2);
    put(out, 45, 2);
    put(out, 0, 8);
    put(out, entries.size(), 8);
    put(out, entries.size(), 8);
    put(out, directory.size(), 8);
    put(out, start, 8);
    put(out, 0x07064b50, 4);
    put(out, 0, 4);
    put(out, end64, 8);
    put(out, 1, 4);
  }
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, options.zip64 ? 0xffff : entries.size(), 2);
  put(out, options.zip64 ? 0xffff : entries.size(), 2);
  put(out, directory.size(), 4);
  put(out, options.zip64 ? 0xffffffff : start, 4);
  put(out, options.comment.size(), 2);
  return out + options.comment;
}

}  // namespace biowarp::testing_zip
