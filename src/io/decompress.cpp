#include "io/decompress.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/fail.h"

namespace biowarp {
namespace {

constexpr std::size_t kBuffer = 1 << 18;

// A source with a look ahead: the bytes not yet taken are at data(), size().
class Lookahead {
 public:
  Lookahead(std::unique_ptr<ByteStream> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)), buffer_(std::make_unique_for_overwrite<char[]>(kBuffer)) {}

  // Reads on until at least `wanted` (<= kBuffer) bytes are there or the source ends.
  void fill(std::size_t wanted) {
    if (size() >= wanted || ended_) return;
    std::memmove(buffer_.get(), data(), size());
    end_ -= std::exchange(begin_, 0);
    while (end_ < wanted && !ended_) {
      const std::size_t done = source_->read(buffer_.get() + end_, kBuffer - end_);
      ended_ = done == 0;
      end_ += done;
    }
  }
  char* data() { return buffer_.get() + begin_; }
  std::size_t size() const { return end_ - begin_; }
  bool at_end() {
    fill(1);
    return size() == 0;
  }
  void take(std::size_t count) { begin_ += count; }
  std::string_view view() { return {data(), size()}; }
  std::size_t read_through(char* out, std::size_t capacity) { return source_->read(out, capacity); }
  const std::string& name() const { return name_; }

 private:
  std::unique_ptr<ByteStream> source_;
  std::string name_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  bool ended_ = false;
};

class PlainStream : public ByteStream {
 public:
  explicit PlainStream(Lookahead input) : input_(std::move(input)) {}

  std::size_t read(char* out, std::size_t capacity) override {
    if (input_.size() == 0) return input_.read_through(out, capacity);
    const std::size_t count = std::min(capacity, input_.size());
    std::memcpy(out, input_.data(), count);
    input_.take(count);
    return count;
  }

 private:
  Lookahead input_;
};

class GzipStream : public ByteStream {
 public:
  explicit GzipStream(Lookahead input) : input_(std::move(input)) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&state_, kGzipOnly) != Z_OK) fail(ErrorKind::device, "no memory for gzip of {}", input_.name());
  }
  ~GzipStream() override { inflateEnd(&state_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  std::size_t read(char* out, std::size_t capacity) override {
    std::size_t done = 0;
    while (done == 0 && (in_member_ || begin_member())) done = inflate_some(out, capacity);
    return done;
  }

 private:
  // Another member follows, or the end. Zeros after the last member are padding (gzip does so on tapes).
  bool begin_member() {
    while (!input_.at_end() && *input_.data() == '\0') input_.take(1);
    if (input_.at_end()) return false;
    input_.fill(2);
    if (input_.view().substr(0, 2) != "\x1f\x8b") fail_input("{} has other data behind its gzip data", input_.name());
    inflateReset(&state_);
    in_member_ = true;
    return true;
  }

  std::size_t inflate_some(char* out, std::size_t capacity) {
    if (input_.at_end()) fail_input("{} is cut off: its gzip data ends early", input_.name());
    state_.next_in = reinterpret_cast<Bytef*>(input_.data());
    state_.avail_in = static_cast<uInt>(input_.size());
    state_.next_out = reinterpret_cast<Bytef*>(out);
    state_.avail_out = static_cast<uInt>(std::min<std::size_t>(capacity, 1u << 30));
    const uInt room = state_.avail_out;
    const int status = inflate(&state_, Z_NO_FLUSH);
    input_.take(input_.size() - state_.avail_in);
    if (status == Z_STREAM_END) {
      in_member_ = false;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail_input("{} holds damaged gzip data: {}", input_.name(), state_.msg ? state_.msg : zError(status));
    }
    return room - state_.avail_out;
  }

  Lookahead input_;
  z_stream state_{};
  bool in_member_ = true;
};

class ZstdStream : public ByteStream {
 public:
  explicit ZstdStream(Lookahead input) : input_(std::move(input)), state_(ZSTD_createDStream()) {
    if (!state_) fail(ErrorKind::device, "no memory for zstd of {}", input_.name());
  }
  ~ZstdStream() override { ZSTD_freeDStream(state_); }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  std::size_t read(char* out, std::size_t capacity) override {
    ZSTD_outBuffer produced{out, capacity, 0};
    while (produced.pos == 0) {
      const bool no_more = input_.at_end();
      if (no_more && frame_done_) break;
      ZSTD_inBuffer consumed{input_.data(), input_.size(), 0};
      const std::size_t status = ZSTD_decompressStream(state_, &produced, &consumed);
      if (ZSTD_isError(status)) {
        fail_input("{} holds damaged zstd data: {}", input_.name(), ZSTD_getErrorName(status));
      }
      input_.take(consumed.pos);
      frame_done_ = status == 0;
      if (no_more && produced.pos == 0) fail_input("{} is cut off: its zstd data ends early", input_.name());
    }
    return produced.pos;
  }

 private:
  Lookahead input_;
  ZSTD_DStream* state_;
  bool frame_done_ = false;
};

bool begins_with(std::string_view text, std::string_view magic) { return text.substr(0, magic.size()) == magic; }

// A frame, or a skippable frame (magic numbers 0x184D2A50 to 0x184D2A5F).
bool is_zstd(std::string_view text) {
  const bool skippable = text.size() >= 4 && (text[0] & 0xf0) == 0x50 && text.substr(1, 3) == "\x2a\x4d\x18";
  return skippable || begins_with(text, "\x28\xb5\x2f\xfd");
}

}  // namespace

std::unique_ptr<ByteStream> decompressed(std::unique_ptr<ByteStream> source, const std::string& name) {
  Lookahead input(std::move(source), name);
  input.fill(6);
  const std::string_view start = input.view();
  if (begins_with(start, "\x1f\x8b")) return std::make_unique<GzipStream>(std::move(input));
  if (is_zstd(start)) return std::make_unique<ZstdStream>(std::move(input));
  const std::pair<std::string_view, const char*> others[] = {
      {"BZh", "bzip2"}, {std::string_view("\xfd\x37zXZ\0", 6), "xz"}, {"PK\x03\x04", "zip"}};
  for (const auto& [magic, format] : others) {
    if (begins_with(start, magic)) {
      fail_input("expected {} to be plain, gzip or zstd, but it is {}-compressed; decompress it first", name, format);
    }
  }
  return std::make_unique<PlainStream>(std::move(input));
}

}  // namespace biowarp
