#include "io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/fail.h"

namespace biowarp {
namespace {

[[noreturn]] void fail_system(const char* action, const std::string& path) {
  fail_input("cannot {} {}: {}", action, path, std::strerror(errno));
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

void write_all(int descriptor, const char* data, std::size_t bytes, const std::string& path) {
  while (bytes > 0) {
    const ssize_t done = ::write(descriptor, data, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_system("write", path);
    data += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const Descriptor opened{open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (opened.number >= 0) fsync(opened.number);
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const Descriptor opened{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status {};
  if (opened.number < 0 || fstat(opened.number, &status) != 0) fail_system("open", path);
  if (!S_ISREG(status.st_mode)) fail_input("expected {} to be a file", path);
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* address = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, opened.number, 0);
  if (address == MAP_FAILED) fail_system("map", path);
  data_ = {static_cast<const std::byte*>(address),
           [size = size_](const std::byte* p) { munmap(const_cast<std::byte*>(p), size); }};
}

AtomicFile::AtomicFile(std::string target, std::int64_t resume_at) : target_(std::move(target)) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (resume_at < 0 ? O_TRUNC : 0);
  descriptor_ = open(partial_path().c_str(), flags, 0666);
  if (descriptor_ < 0) fail_system("create", partial_path());
  if (resume_at < 0) return;
  if (ftruncate(descriptor_, resume_at) != 0 || lseek(descriptor_, resume_at, SEEK_SET) < 0) {
    fail_system("resume", partial_path());
  }
  position_ = resume_at;
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (!keep_) unlink(partial_path().c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  constexpr std::size_t kBuffer = 1 << 20;
  position_ += static_cast<std::int64_t>(bytes);
  if (buffer_.size() + bytes > kBuffer) flush();
  if (bytes > kBuffer) return write_all(descriptor_, static_cast<const char*>(data), bytes, partial_path());
  buffer_.append(static_cast<const char*>(data), bytes);
}

void AtomicFile::write_at(std::int64_t offset, const void* data, std::size_t bytes) {
  flush();
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = pwrite(descriptor_, from, bytes, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_system("write", partial_path());
    from += done;
    offset += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void AtomicFile::flush(bool durable) {
  write_all(descriptor_, buffer_.data(), buffer_.size(), partial_path());
  buffer_.clear();
  if (durable && fdatasync(descriptor_) != 0) fail_system("flush", partial_path());
}

void AtomicFile::commit() {
  flush(true);
  if (close(std::exchange(descriptor_, -1)) != 0) fail_system("close", partial_path());
  if (rename(partial_path().c_str(), target_.c_str()) != 0) fail_system("rename", partial_path());
  sync_folder_of(target_);
}

void publish_file(const std::string& partial, const std::string& target) {
  {
    const Descriptor opened{open(partial.c_str(), O_RDWR | O_CLOEXEC)};
    if (opened.number < 0 || fsync(opened.number) != 0) fail_system("flush", partial);
  }
  if (rename(partial.c_str(), target.c_str()) != 0) fail_system("rename", partial);
  sync_folder_of(target);
}

std::string read_text(const std::string& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_text(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace biowarp
