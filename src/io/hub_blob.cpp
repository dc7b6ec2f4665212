#include "io/hub_blob.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/hash.h"
#include "base/log.h"

namespace biowarp {
namespace {

namespace fs = std::filesystem;

constexpr int kMostFailures = 5;  // in a row, without a byte in between

std::unique_ptr<Digest> new_digest(const HubBlob& blob) {
  if (blob.etag.size() == 64) return std::make_unique<Sha256>();
  auto digest = std::make_unique<Sha1>();
  digest->add(fmt::format("blob {}", blob.size));
  digest->add("\0", 1);
  return digest;
}

// "<etag>.incomplete", locked against other processes, with the digest of what it holds.
class IncompleteFile {
 public:
  IncompleteFile(std::string path, const HubBlob& blob) : path_(std::move(path)), blob_(blob) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) refuse("create");
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      log_info("waiting for another process that downloads {}", path_);
      if (flock(descriptor_, LOCK_EX) != 0) refuse("lock");
    }
  }
  ~IncompleteFile() { close(descriptor_); }
  IncompleteFile(const IncompleteFile&) = delete;
  IncompleteFile& operator=(const IncompleteFile&) = delete;

  std::int64_t size() const { return size_; }

  // Takes over what an earlier run left.
  void resume() {
    restart();
    std::vector<char> buffer(1 << 20);
    for (;;) {
      const ssize_t count = read(descriptor_, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse("read");
      if (count == 0) break;
      digest_->add(buffer.data(), static_cast<std::size_t>(count));
      size_ += count;
    }
    if (size_ > blob_.size) clear();
  }

  void clear() {
    if (ftruncate(descriptor_, 0) != 0) refuse("truncate");
    restart();
  }

  void append(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = write(descriptor_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse("write");
      digest_->add(bytes.data(), static_cast<std::size_t>(count));
      size_ += count;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  // Gives the file its final name if it is what was announced, and removes it otherwise.
  void finish(const std::string& target) {
    const std::string got = digest_->finish();
    if (got != blob_.etag) {
      unlink(path_.c_str());
      fail_input("{} is damaged: expected hash {}, got {}; it was removed, try again", blob_.url, blob_.etag, got);
    }
    if (fdatasync(descriptor_) != 0) refuse("flush");
    if (rename(path_.c_str(), target.c_str()) != 0) refuse("rename");
  }

 private:
  void restart() {
    if (lseek(descriptor_, 0, SEEK_SET) != 0) refuse("rewind");
    digest_ = new_digest(blob_);
    size_ = 0;
  }

  [[noreturn]] void refuse(const char* action) const {
    fail_input("cannot {} {}: {}", action, path_, std::strerror(errno));
  }

  std::string path_;
  const HubBlob& blob_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
  std::unique_ptr<Digest> digest_;
};

bool is_whole(const std::string& path, const HubBlob& blob) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && fs::file_size(path, ignored) == static_cast<std::uintmax_t>(blob.size);
}

// One request for what is missing; the answer says how it went.
HttpResponse request_rest(const HttpClient& client, const HubBlob& blob, IncompleteFile& file,
                          const BlobTransfer& transfer) {
  const std::int64_t first = file.size();
  bool begun = false;
  return client.get(blob.url, first, [&](const HttpResponse& head, std::string_view bytes) {
    if (!std::exchange(begun, true) && first > 0 && head.status != 206) file.clear();  // it sends all of it again
    if (file.size() + static_cast<std::int64_t>(bytes.size()) > blob.size) {
      file.clear();
      fail_input("{} sends more than the {} bytes that were announced", head.url, blob.size);
    }
    file.append(bytes);
    if (transfer.on_bytes) transfer.on_bytes(file.size());
  });
}

bool may_pass(const HttpResponse& response) {
  return !response.failure.empty() || response.status == 429 || response.status >= 500;
}

std::string describe(const HttpResponse& response) {
  return response.failure.empty() ? fmt::format("status {}", response.status) : response.failure;
}

void download_rest(const HttpClient& client, const HubBlob& blob, IncompleteFile& file, const BlobTransfer& transfer) {
  double delay = transfer.retry_delay;
  for (int failures = 0; file.size() < blob.size;) {
    const std::int64_t before = file.size();
    const HttpResponse response = request_rest(client, blob, file, transfer);
    if (response.ok() && file.size() == blob.size) return;
    if (response.ok()) {
      file.clear();
      fail_input("{} sends fewer than the {} bytes that were announced", response.url, blob.size);
    }
    if (response.status == 416) {
      file.clear();
    } else if (!may_pass(response)) {
      fail_input("{} cannot be downloaded: status {}", response.url, response.status);
    }
    const bool moved = file.size() > before;
    failures = moved ? 0 : failures + 1;
    if (moved) delay = transfer.retry_delay;
    if (failures == kMostFailures) {
      fail_input("the transfer of {} ended at {} of {} bytes ({}); run the same command again to go on", blob.url,
                 file.size(), blob.size, describe(response));
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(delay));
    delay *= 2;
  }
}

}  // namespace

bool is_blob_hash(const std::string& etag) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return (etag.size() == 64 || etag.size() == 40) && std::all_of(etag.begin(), etag.end(), digit);
}

bool fetch_blob(const HttpClient& client, const HubBlob& blob, const std::string& folder,
                const BlobTransfer& transfer) {
  const std::string target = (fs::path(folder) / blob.etag).string();
  if (is_whole(target, blob)) return false;
  IncompleteFile file(target + ".incomplete", blob);
  if (is_whole(target, blob)) {  // by the process that held the lock
    fs::remove(target + ".incomplete");
    return false;
  }
  file.resume();
  if (transfer.on_bytes) transfer.on_bytes(file.size());
  download_rest(client, blob, file, transfer);
  file.finish(target);
  return true;
}

}  // namespace biowarp
