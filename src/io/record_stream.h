// RecordStream: the records of one input, whatever its format. RecordReader (public) strings several
// together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "biowarp/sequence.h"
#include "io/byte_stream.h"

namespace biowarp {

class RecordStream {
 public:
  virtual ~RecordStream() = default;
  // Sets id (empty when the record has none), description, sequence, line and error; leaves the rest alone.
  // False at the end.
  virtual bool next(Record& record) = 0;
};

// Most bytes of a record, and of a row of a table.
inline constexpr std::size_t kLongestRecord = std::size_t{1} << 30;

// Tells the format by the first line that is not blank:
//   '>' or ';' first                      FASTA (PIR record by record)
//   a row with the sequence column        CSV or TSV
//   a row with a comma or a tab otherwise Error(input) that lists its columns
//   anything else                         FASTA without a first header
// `name` stands for the input in errors.
std::unique_ptr<RecordStream> open_records(std::unique_ptr<ByteStream> bytes, const std::string& name,
                                           const ReadOptions& options);

}  // namespace biowarp
