// Reader of zip archives whose entries are stored, not compressed: each entry is a span of the mapped file.
//
// Format: PKWARE APPNOTE 6.3.x, zip64 included. No entry is copied and no checksum is computed.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "io/file.h"

namespace biowarp {

bool looks_like_zip(std::span<const std::byte> bytes);

class ZipArchive {
 public:
  // Throws Error(input) for a damaged directory, a compressed or encrypted entry, or a name that occurs
  // twice.
  explicit ZipArchive(const MappedFile& file);

  const std::map<std::string, std::span<const std::byte>, std::less<>>& entries() const { return entries_; }
  // Throws Error(input) when there is no such entry.
  std::span<const std::byte> entry(std::string_view name) const;
  bool has(std::string_view name) const { return entries_.find(name) != entries_.end(); }
  const MappedFile& file() const { return file_; }

 private:
  MappedFile file_;
  std::map<std::string, std::span<const std::byte>, std::less<>> entries_;
};

}  // namespace biowarp
