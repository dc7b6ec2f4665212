// CSV and TSV with a header line.
//
// CSV (comma or semicolon) follows RFC 4180: quoted fields may hold delimiters, line breaks and doubled
// quotes. In TSV a tab or a line break always ends a field; quotes around a whole field are removed. Blank
// rows are skipped. A row whose number of fields differs from the header's becomes a record with an error
// (empty fields at its end do not count).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/line_reader.h"
#include "io/record_stream.h"

namespace biowarp {

// Rows of fields, streamed.
class RowReader {
 public:
  RowReader(LineReader lines, char delimiter) : lines_(std::move(lines)), delimiter_(delimiter) {}

  // Fields of the next row that is not blank; false at the end. Throws Error(input) for a quote that is never
  // closed.
  bool next(std::vector<std::string>& fields);
  // 1-based line on which the last row began.
  std::int64_t line() const { return line_; }
  const std::string& name() const { return lines_.name(); }

 private:
  enum class Place { field_start, plain, quoted, quote_in_quoted };

  bool next_row(std::vector<std::string>& fields);
  void take(std::string_view text, std::vector<std::string>& fields);
  std::size_t take_plain(std::string_view text, std::vector<std::string>& fields);
  std::size_t take_quoted(std::string_view text, std::vector<std::string>& fields);
  void append(std::vector<std::string>& fields, std::string_view text);
  void end_field(std::vector<std::string>& fields);

  LineReader lines_;
  char delimiter_;
  Place place_ = Place::field_start;
  std::int64_t line_ = 0;
  std::size_t row_bytes_ = 0;
};

// How a header line is to be read.
struct TableLayout {
  char delimiter = ',';
  std::size_t columns = 0;
  std::size_t sequence = 0;  // number of the column
  std::optional<std::size_t> id;
};

// Nothing when the line is no table's header. Throws Error(input), with the columns there are, for a header
// that lacks a column asked for or has none for the sequence.
std::optional<TableLayout> find_table(std::string_view header_line, const std::string& name,
                                      const ReadOptions& options);

class TableStream : public RecordStream {
 public:
  TableStream(LineReader lines, const TableLayout& layout);
  bool next(Record& record) override;

 private:
  RowReader rows_;
  TableLayout layout_;
  std::vector<std::string> fields_;
};

}  // namespace biowarp
