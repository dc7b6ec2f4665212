// FASTA and PIR records.
//
//   >id description        FASTA: letters until the next header
//   ; text                 a comment; where no '>' has come yet, the first of such lines is the header of the
//   letters
//                          that follow (Pearson's first format)
//   >P1;id                 PIR (also F1, DL, DC, RL, RC, N1, N3, XX): the next line is the description,
//   letters end description            with '*' at the end of a line; text from there to the next header is
//   not part of the record
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "io/line_reader.h"
#include "io/record_stream.h"

namespace biowarp {

class FastaStream : public RecordStream {
 public:
  explicit FastaStream(LineReader lines) : lines_(std::move(lines)) {}
  bool next(Record& record) override;

 private:
  enum class Marker { none, angle, semicolon };           // what began the record
  enum class Pir { no, description, letters, finished };  // where in a PIR record we are
  struct Header {
    Marker marker = Marker::none;
    std::string text;
    std::int64_t line = 0;
  };

  bool begins_record(char first, const Record& record) const;
  bool is_complete(const Record& record) const;
  Header read_header(char first);
  void begin(Record& record, const Header& header);
  void take_text(Record& record);
  void end_pir_line(Record& record);
  void append(std::string& text, std::string_view more) const;

  LineReader lines_;
  LineReader::Piece piece_;
  Header waiting_;                // header of the next record, read already
  bool open_ = false;             // a record has begun
  Marker marker_ = Marker::none;  // of the open record
  Pir pir_ = Pir::no;
  bool skip_line_ = false;  // the current line is a comment
};

}  // namespace biowarp
