#include "io/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.h"

namespace biowarp {

LineReader::LineReader(std::unique_ptr<ByteStream> source, std::string name)
    : source_(std::move(source)), name_(std::move(name)), buffer_(std::make_unique_for_overwrite<char[]>(kBuffer)) {
  refill(kWholeLine);
  drop_byte_order_mark();
}

void LineReader::drop_byte_order_mark() {
  const std::string_view start = peek();
  if (start.substr(0, 3) == "\xef\xbb\xbf") begin_ += 3;
  if (start.substr(0, 2) == "\xff\xfe" || start.substr(0, 2) == "\xfe\xff") {
    fail_input("expected {} to be ASCII or UTF-8 text, but it is UTF-16; save it as UTF-8", name_);
  }
}

// Moves what is left to the front and reads until `wanted` bytes are there or the source ends.
void LineReader::refill(std::size_t wanted) {
  if (ended_ || end_ - begin_ >= wanted) return;
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  while (end_ < wanted && !ended_) {
    const std::size_t done = source_->read(buffer_.get() + end_, kBuffer - end_);
    ended_ = done == 0;
    end_ += done;
  }
  next_lf_ = next_cr_ = 0;
}

// First `c` at or behind begin_, or end_. `known` remembers it, so that each byte of the buffer is looked at
// once.
std::size_t LineReader::find_from(std::size_t& known, char c) const {
  if (known < begin_ || known == 0) {
    const void* found = std::memchr(buffer_.get() + begin_, c, end_ - begin_);
    known = found ? static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.get()) : end_;
  }
  return known;
}

std::size_t LineReader::find_break() { return std::min(find_from(next_lf_, '\n'), find_from(next_cr_, '\r')); }

std::string_view LineReader::peek() {
  refill(kWholeLine);
  return {buffer_.get() + begin_, end_ - begin_};
}

bool LineReader::next(Piece& piece) {
  if (begin_ == end_) refill(kWholeLine);
  if (std::exchange(skip_lf_, false) && begin_ < end_ && buffer_[begin_] == '\n') ++begin_;
  std::size_t stop = find_break();
  if (stop == end_ && !ended_) {
    refill(kWholeLine);
    stop = find_break();
  }
  if (begin_ == end_ && at_line_start_) return false;
  line_ += at_line_start_ ? 1 : 0;
  piece = {{buffer_.get() + begin_, stop - begin_}, at_line_start_, stop < end_ || ended_};
  if (stop < end_) {
    skip_lf_ = buffer_[stop] == '\r';
    ++stop;
  }
  begin_ = stop;
  at_line_start_ = piece.ends_line;
  return true;
}

}  // namespace biowarp
