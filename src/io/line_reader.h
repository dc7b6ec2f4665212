// Lines of a text stream, in pieces so that a line of any length needs no memory of its own.
//
// A line ends with LF, CRLF or a lone CR; the last one may end with the input. A UTF-8 byte order mark at the
// start is dropped; UTF-16 is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "io/byte_stream.h"

namespace biowarp {

class LineReader {
 public:
  // `name` stands for the input in errors.
  LineReader(std::unique_ptr<ByteStream> source, std::string name);

  struct Piece {
    std::string_view text;     // without the line break; valid until the next call
    bool begins_line = false;  // then it holds the whole line, or at least kWholeLine bytes of it
    bool ends_line = false;
  };
  static constexpr std::size_t kWholeLine = 1 << 17;

  // False at the end of the input.
  bool next(Piece& piece);

  // 1-based number of the line that the last piece belongs to.
  std::int64_t line() const { return line_; }

  // What comes next, without taking it: at least kWholeLine bytes, or all that is left.
  std::string_view peek();

  const std::string& name() const { return name_; }

 private:
  static constexpr std::size_t kBuffer = 2 * kWholeLine;

  void refill(std::size_t wanted);
  void drop_byte_order_mark();
  std::size_t find_break();
  std::size_t find_from(std::size_t& known, char c) const;

  std::unique_ptr<ByteStream> source_;
  std::string name_;
  std::unique_ptr<char[]> buffer_;         // kBuffer bytes
  std::size_t begin_ = 0, end_ = 0;        // bytes not yet taken
  std::size_t next_lf_ = 0, next_cr_ = 0;  // first of each in what is left, or end_; 0: not known
  bool ended_ = false;                     // the source has no more
  bool at_line_start_ = true;
  bool skip_lf_ = false;  // the last line ended with a CR: an LF belongs to it
  std::int64_t line_ = 0;
};

}  // namespace biowarp
