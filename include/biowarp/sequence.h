// Reading protein records from files and pipes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "biowarp/export.h"

namespace biowarp {

struct Record {
  std::string id;           // first word of the header; "record_<n>" (n from 1) when there is none
  std::string description;  // the rest of the header line
  std::string sequence;     // letters as they stand in the file, line breaks removed, nothing else changed
  std::int64_t index = 0;   // 0-based number in the whole input
  std::int64_t line = 0;    // 1-based line of its header in `file`
  std::string file;         // path as given, "-" for standard input
  std::string error;        // empty, or why the record cannot be used (a table row with too few columns); then
                            // `sequence` is empty
};

struct ReadOptions {
  std::string sequence_column;  // CSV/TSV: name of the column with the letters; empty: "sequence" or "seq"
  std::string id_column;        // CSV/TSV: empty: "id", "name", "entry" or "accession"; none of them: "record_<n>"
};

// Streams records of one or more inputs, in order; memory does not grow with the input.
//
// FASTA, PIR and CSV/TSV with a header line, plain, gzip (also several members) or zstd, told by content and
// not by suffix; "-" is standard input. docs/input.md has the rules. LF, CRLF and lone CR, a byte order mark,
// blank lines, a missing final line break, empty records and ';' comments are accepted. Text before the first
// header of a file is one record. Headers are UTF-8; a header that is not is taken as Latin-1. Throws
// Error(input) for files that cannot be opened or decompressed (a truncated gzip included), for tables
// without the columns asked for, and for a record of more than 1 GiB; Error(usage) when "-" is given twice.
class BIOWARP_API RecordReader {
 public:
  // Throws at once when one of the paths cannot be read.
  explicit RecordReader(std::vector<std::string> paths, ReadOptions options = {});
  ~RecordReader();
  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;

  // False at the end of the last input.
  bool next(Record& record);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All records of one file.
BIOWARP_API std::vector<Record> read_fasta(const std::string& path, const ReadOptions& options = {});

}  // namespace biowarp
