// Records of an input as residues, for tasks that need nothing but the residues: those that cannot be used
// are counted and reported, never silently changed.
#pragma once

#include <cstdint>
#include <vector>

#include "biowarp/records.h"
#include "seq/protein.h"

namespace biowarp {

class ReadableRecords {
 public:
  struct Options {
    LetterPolicy letters;
    std::int64_t crop = 0;     // residues kept of a longer record; 0: all
    std::int64_t longest = 0;  // records with more residues (after cropping) do not fit into memory
    SkipHandler on_skip;
  };

  ReadableRecords(RecordReader& records, Options options) : records_(records), options_(std::move(options)) {}

  // False at the end of the input.
  bool next(Record& record, std::vector<std::uint8_t>& residues);

  RecordCounts counts() const;

 private:
  RecordReader& records_;
  Options options_;
  RecordCounts counts_;
  LetterChanges changes_;
};

}  // namespace biowarp
