// The index beside every output: one line per input record, in input order, tab separated, with a header
// line.
//
//   row          row number in the output, from 0; empty when the record was skipped
//   key          name of the record in the output (dataset, array, tensor); for matrices its id
//   id           first word of the header          description  the rest of it
//   length       residues that were embedded (of the whole record for skipped ones)
//   status       "ok" or "skipped"
//   changes      what was changed before embedding: letters, truncation, windows; empty: nothing
//   reason       why it was skipped
//   hash         identity of the record: id, description, letters, model, settings (for --resume)
//
// Tabs, line breaks and backslashes inside a field stand as \t, \n, \r and \\.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace biowarp {

struct IndexLine {
  std::int64_t row = -1;  // -1: skipped
  std::string key, id, description;
  std::int64_t length = 0;
  std::string changes, reason, hash;

  bool skipped() const { return row < 0; }
};

extern const std::string kIndexHeader;  // with its line break

std::string format_index_line(const IndexLine& line);  // with its line break
// False when the text (without line break) is no whole index line.
bool parse_index_line(std::string_view text, IndexLine& line);

// Reads an index line by line. Ends at the first line that is not whole, which is how an interrupted one
// ends.
class IndexReader {
 public:
  explicit IndexReader(const std::string& path);
  // True when the file is there and begins like an index.
  bool valid() const { return valid_; }
  bool next(IndexLine& line);
  // Bytes of the header and of the lines read so far.
  std::int64_t position() const { return position_; }

 private:
  std::ifstream file_;
  bool valid_ = false;
  std::int64_t position_ = 0;
};

}  // namespace biowarp
