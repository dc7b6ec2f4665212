#include "io/zip_archive.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/fail.h"

namespace biowarp {
namespace {

using Bytes = std::span<const std::byte>;

// Signatures and sizes of the records (APPNOTE 4.3).
constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kLocator64 = 0x07064b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;
constexpr std::size_t kLargestComment = 0xffff;
constexpr std::uint32_t kIn64 = 0xffffffff;  // "the value stands in the zip64 field"
constexpr std::uint16_t kIn64Short = 0xffff, kZip64Field = 1, kEncrypted = 1;

// Bounds-checked little-endian reads that name the file when it ends too early.
class Reader {
 public:
  Reader(const std::string& path, Bytes bytes) : path_(path), bytes_(bytes) {}

  template <class T>
  T get(std::uint64_t offset) const {
    T value;
    std::memcpy(&value, slice(offset, sizeof(T)).data(), sizeof(T));
    return value;
  }
  Bytes slice(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      fail_input("{}: the zip archive is cut short or damaged: bytes {} to {} are outside the file", path_, offset,
                 offset + size);
    }
    return bytes_.subspan(offset, size);
  }
  std::string text(std::uint64_t offset, std::uint64_t size) const {
    const Bytes bytes = slice(offset, size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::uint64_t size() const { return bytes_.size(); }
  const std::string& path() const { return path_; }

 private:
  const std::string& path_;
  Bytes bytes_;
};

struct Directory {
  std::uint64_t offset, entries;
};

Directory find_directory(const Reader& in) {
  const std::uint64_t lowest = in.size() - std::min<std::uint64_t>(in.size(), kEndSize + kLargestComment);
  for (std::uint64_t at = in.size() - std::min<std::uint64_t>(in.size(), kEndSize) + 1; at-- > lowest;) {
    if (in.size() < kEndSize || in.get<std::uint32_t>(at) != kEnd) continue;
    if (at + kEndSize + in.get<std::uint16_t>(at + 20) != in.size()) continue;
    Directory found{in.get<std::uint32_t>(at + 16), in.get<std::uint16_t>(at + 10)};
    if (found.offset != kIn64 && found.entries != kIn64Short) return found;
    if (at < kLocatorSize || in.get<std::uint32_t>(at - kLocatorSize) != kLocator64) return found;
    const auto end64 = in.get<std::uint64_t>(at - kLocatorSize + 8);
    in.slice(end64, kEnd64Size);
    if (in.get<std::uint32_t>(end64) != kEnd64) fail_input("{}: the zip64 directory is damaged", in.path());
    return {in.get<std::uint64_t>(end64 + 48), in.get<std::uint64_t>(end64 + 32)};
  }
  fail_input("{}: a zip archive without its directory: it is cut short", in.path());
}

struct Entry {
  std::string name;
  std::uint64_t size, compressed, local;
};

// Replaces the values that did not fit into 32 bits by those of the zip64 field.
void read_zip64(const Reader& in, std::uint64_t at, std::uint64_t length, Entry& entry) {
  const std::uint64_t end = at + length;
  while (at + 4 <= end) {
    const auto id = in.get<std::uint16_t>(at), size = in.get<std::uint16_t>(at + 2);
    at += 4;
    if (id == kZip64Field) {
      std::uint64_t next = at;
      for (std::uint64_t* value : {&entry.size, &entry.compressed, &entry.local}) {
        if (*value != kIn64) continue;
        if (next + 8 > at + size) fail_input("{}: {}: the zip64 field is too short", in.path(), entry.name);
        *value = in.get<std::uint64_t>(next);
        next += 8;
      }
      return;
    }
    at += size;
  }
}

// Reads the directory record at `at` and moves `at` behind it.
Entry read_entry(const Reader& in, std::uint64_t& at) {
  in.slice(at, kCentralSize);
  if (in.get<std::uint32_t>(at) != kCentral) fail_input("{}: the zip directory is damaged at byte {}", in.path(), at);
  const auto name = in.get<std::uint16_t>(at + 28), extra = in.get<std::uint16_t>(at + 30),
             comment = in.get<std::uint16_t>(at + 32);
  Entry entry{in.text(at + kCentralSize, name), in.get<std::uint32_t>(at + 24), in.get<std::uint32_t>(at + 20),
              in.get<std::uint32_t>(at + 42)};
  if ((in.get<std::uint16_t>(at + 8) & kEncrypted) != 0) fail_input("{}: {} is encrypted", in.path(), entry.name);
  const auto method = in.get<std::uint16_t>(at + 10);
  in.slice(at + kCentralSize + name, extra);
  read_zip64(in, at + kCentralSize + name, extra, entry);
  if (method != 0 || entry.size != entry.compressed) {
    fail_input(
        "{}: {} is compressed; torch stores its tensors plainly, so this archive was repacked: unpack it or "
        "save "
        "the checkpoint again",
        in.path(), entry.name);
  }
  at += kCentralSize + name + extra + comment;
  return entry;
}

Bytes data_of(const Reader& in, const Entry& entry) {
  in.slice(entry.local, kLocalSize);
  if (in.get<std::uint32_t>(entry.local) != kLocal) fail_input("{}: {} has no local header", in.path(), entry.name);
  const std::uint64_t skipped =
      kLocalSize + in.get<std::uint16_t>(entry.local + 26) + in.get<std::uint16_t>(entry.local + 28);
  return in.slice(entry.local + skipped, entry.size);
}

}  // namespace

bool looks_like_zip(Bytes bytes) {
  std::uint32_t signature = 0;
  if (bytes.size() >= sizeof signature) std::memcpy(&signature, bytes.data(), sizeof signature);
  return signature == kLocal || signature == kEnd;
}

ZipArchive::ZipArchive(const MappedFile& file) : file_(file) {
  const Reader in(file_.path(), file_.bytes());
  const Directory directory = find_directory(in);
  std::uint64_t at = directory.offset;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    const Entry entry = read_entry(in, at);
    if (!entries_.emplace(entry.name, data_of(in, entry)).second) {
      fail_input("{}: {} occurs twice in the archive", file_.path(), entry.name);
    }
  }
}

Bytes ZipArchive::entry(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) fail_input("{}: no {} in the archive", file_.path(), name);
  return found->second;
}

}  // namespace biowarp
