// What a job over many records says about them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "biowarp/sequence.h"

namespace biowarp {

// Called for a record that has no result, with the reason; it is counted and left out.
using SkipHandler = std::function<void(const Record& record, const std::string& reason)>;

struct RecordCounts {
  std::int64_t records = 0;  // read
  std::int64_t skipped = 0;
  std::int64_t cropped = 0;
  std::int64_t residues = 0;  // of all records that were not skipped, after cropping
  std::string changes;        // letters that were changed, in words; empty: none
};

}  // namespace biowarp
