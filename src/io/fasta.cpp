#include "io/fasta.h"

#include <algorithm>
#include <array>

#include "base/fail.h"
#include "base/log.h"
#include "io/header_text.h"
#include "io/utf8.h"

namespace biowarp {
namespace {

bool is_pir(std::string_view header) {
  constexpr std::array<std::string_view, 9> kCodes{"P1;", "F1;", "DL;", "DC;", "RL;", "RC;", "N1;", "N3;", "XX;"};
  return std::find(kCodes.begin(), kCodes.end(), header.substr(0, 3)) != kCodes.end();
}

// First character that is not a blank, or '\0'.
char first_character(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? '\0' : text[first];
}

}  // namespace

bool FastaStream::next(Record& record) {
  record.sequence.clear();
  record.error.clear();
  open_ = false;
  if (waiting_.marker != Marker::none) begin(record, std::exchange(waiting_, {}));
  while (lines_.next(piece_)) {
    if (piece_.begins_line) {
      const char first = first_character(piece_.text);
      if (begins_record(first, record)) {
        const Header header = read_header(first);
        if (is_complete(record)) {
          waiting_ = header;
          return true;
        }
        begin(record, header);
        continue;
      }
      skip_line_ = first == ';' && pir_ != Pir::description;
      if (!open_ && !skip_line_ && first != '\0') begin(record, {Marker::none, "", lines_.line()});
    }
    if (open_ && !skip_line_) take_text(record);
  }
  return is_complete(record);
}

bool FastaStream::begins_record(char first, const Record& record) const {
  if (first == '>') return true;
  return first == ';' && (!open_ || (marker_ == Marker::semicolon && is_complete(record)));
}

// A ';' line without letters behind it was a comment.
bool FastaStream::is_complete(const Record& record) const {
  return open_ && (marker_ != Marker::semicolon || !trim(record.sequence).empty());
}

// The rest of the current line, behind its marker.
FastaStream::Header FastaStream::read_header(char first) {
  Header header{first == '>' ? Marker::angle : Marker::semicolon, "", lines_.line()};
  append(header.text, piece_.text.substr(piece_.text.find(first) + 1));
  while (!piece_.ends_line && lines_.next(piece_)) append(header.text, piece_.text);
  if (open_ && marker_ == Marker::none) {
    log_warn("{}: the text before the first header (line {}) is read as a record of its own", lines_.name(),
             header.line);
  }
  return header;
}

void FastaStream::begin(Record& record, const Header& header) {
  open_ = true;
  marker_ = header.marker;
  record.line = header.line;
  const bool pir = marker_ == Marker::angle && is_pir(trim(header.text));
  pir_ = pir ? Pir::description : Pir::no;
  split_header(pir ? trim(header.text).substr(3) : header.text, record.id, record.description);
}

void FastaStream::take_text(Record& record) {
  switch (pir_) {
    case Pir::no: append(record.sequence, piece_.text); break;
    case Pir::description:
      append(record.description, piece_.text);
      if (!piece_.ends_line) break;
      record.description = as_utf8(trim(record.description));
      pir_ = Pir::letters;
      break;
    case Pir::letters:
      append(record.sequence, piece_.text);
      if (piece_.ends_line) end_pir_line(record);
      break;
    case Pir::finished: break;
  }
}

void FastaStream::end_pir_line(Record& record) {
  const std::size_t last = record.sequence.find_last_not_of(kBlanks);
  if (last == std::string::npos || record.sequence[last] != '*') return;
  record.sequence.resize(last);
  pir_ = Pir::finished;
}

void FastaStream::append(std::string& text, std::string_view more) const {
  if (text.size() + more.size() > kLongestRecord) {
    fail_input("expected records of at most 1 GiB, but the one at line {} of {} is longer", lines_.line(),
               lines_.name());
  }
  text += more;
}

}  // namespace biowarp
