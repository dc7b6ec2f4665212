// What travels through an embed job: records, cut into segments, packed into batches.
//
//   reader thread:   Record -> EmbedRecord -> EmbedBatch      (embed_reader.h)
//   calling thread:  EmbedBatch -> values of its records      (embed_compute.h)
//   writer thread:   EmbedRecord -> file and index            (embed_output.h)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "biowarp/embed.h"
#include "io/embedding_file.h"
#include "io/index_file.h"
#include "seq/packed_batch.h"
#include "seq/protein.h"
#include "tasks/windows.h"

namespace biowarp {

// A job with everything resolved that does not depend on a record.
struct EmbedSettings {
  EmbeddingLayout layout;
  Pooling pooling = Pooling::mean;
  LetterPolicy letters;
  LongPolicy long_policy = LongPolicy::full;
  std::int64_t max_length = 0, overlap = 0;
  bool unique_ids = false;
  std::int64_t token_budget = 0;    // of a batch
  std::int64_t largest_tokens = 0;  // of one sequence, by memory
  std::string identity;             // everything that decides the bytes of a record's result
};

struct EmbedRecord {
  IndexLine line;                    // row and key still open; skipped when `reason` is not empty
  std::vector<std::uint8_t> tokens;  // [L] residues to embed
  LetterChanges letters;
  std::int64_t letters_read = 0;  // of the sequence as it stands in the input
  bool truncated = false;
  std::unique_ptr<Windows> windows;  // for records of more than one window
  // Windowed records while they are computed: [layers, L + 2, C], begin and end row included.
  std::vector<float> merged;
  std::vector<float> values;  // the result, in the shape of the layout

  bool skipped() const { return !line.reason.empty(); }
  std::int64_t length() const { return static_cast<std::int64_t>(tokens.size()); }
};

// A piece of a record that is one sequence of a packed batch.
struct EmbedSegment {
  std::shared_ptr<EmbedRecord> record;
  std::int64_t window = 0;
};

struct EmbedBatch {
  PackedBatch packed;
  std::vector<EmbedSegment> segments;                 // one per sequence of `packed`
  std::vector<std::shared_ptr<EmbedRecord>> records;  // complete with this batch, in input order
};

}  // namespace biowarp
