// Zip archives with stored (uncompressed) members; zip64 where sizes, offsets or counts need it. No time
// stamps: all members are dated 1980-01-01, so the same members give the same bytes. Names are UTF-8. Source:
// PKWARE APPNOTE.TXT 6.3.x, sections 4.3 to 4.5.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"

namespace biowarp {

class ZipWriter {
 public:
  // Appends to `file`, which must outlive the writer and still be empty. Data of every member starts at a
  // multiple of `alignment` bytes (padded with an extra field, as torch.save does).
  explicit ZipWriter(AtomicFile& file, std::int64_t alignment = 1) : file_(file), alignment_(alignment) {}

  // A member of `bytes` bytes, written piece by piece.
  void begin(std::string_view name, std::int64_t bytes);
  void write(const void* data, std::size_t bytes);
  void end();

  // A member in one go: the pieces one after the other.
  void add(std::string_view name, std::initializer_list<std::string_view> pieces);

  // Writes the directory. The file is not committed.
  void finish();

 private:
  struct Member {
    std::string name;
    std::int64_t offset;
    std::int64_t bytes;
    std::uint32_t crc;
  };
  void write_local_header(const Member& member);
  void write_directory_entry(const Member& member);

  AtomicFile& file_;
  std::int64_t alignment_;
  std::int64_t left_ = 0;  // bytes of the open member still to come
  std::vector<Member> members_;
};

}  // namespace biowarp
