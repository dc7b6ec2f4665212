// Files as the rest of biowarp uses them: mapped for reading, whole or not at all for writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace biowarp {

// A read-only memory map of a whole file. Copies share the map. Throws Error(input) when it cannot be opened.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::shared_ptr<const std::byte> data_;
  std::size_t size_ = 0;
};

// A file that gets its final name only by commit(). It is written beside its target as "<target>.partial"; commit()
// flushes it to disk and renames it. Without commit the partial file is removed, unless keep() was called, which
// leaves it for a later resume. Throws Error(input) with the path when the system refuses.
class AtomicFile {
 public:
  // resume_at >= 0: keep the first resume_at bytes of an existing partial file and go on behind them.
  explicit AtomicFile(std::string target, std::int64_t resume_at = -1);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // Overwrites bytes that were written before; the position for write() stays at the end.
  void write_at(std::int64_t offset, const void* data, std::size_t bytes);
  std::int64_t position() const { return position_; }
  // Hands everything written so far to the system (survives a kill of this process), to disk with `durable`.
  void flush(bool durable = false);
  void commit();
  void keep() { keep_ = true; }
  const std::string& target() const { return target_; }
  std::string partial_path() const { return target_ + ".partial"; }

 private:
  std::string target_;
  int descriptor_ = -1;
  std::int64_t position_ = 0;
  std::string buffer_;
  bool keep_ = false;
};

// Gives a finished file its final name: contents to disk, rename, folder to disk.
void publish_file(const std::string& partial, const std::string& target);

// Whole file as text; Error(input) when it cannot be read.
std::string read_text(const std::string& path);
// Atomic replacement of a whole file.
void write_text(const std::string& path, std::string_view text);

}  // namespace biowarp
