// The writing end of an embed job.
//
// While a file is in the making, two files beside it grow at their ends and nowhere else:
//
//   OUT.partial          for .npy: 128 bytes for the header, then the values     (OUT.rows.partial: values
//   alone) OUT.journal.partial  the lines of the index, without keys
//
// After every batch first the values and then the lines are handed to the system. A job that is killed at any
// moment so leaves whole lines for records whose values are whole; what follows them is cut off by a resumed
// run. At the end the values become the output: the header of a .npy is filled in and the file renamed, other
// formats are written from the values in one pass. Output and index then get their final names, and the
// journal is removed.
//
// With shards this holds for each of the numbered files (OUT of "emb.h5" is "emb.00001.h5", ...), so the
// values kept beside a format other than .npy never exceed one shard.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/embedding_file.h"
#include "tasks/embed_record.h"

namespace biowarp {

// Where the files of a job are.
struct OutputPaths {
  std::string output;      // as named by the user
  std::int64_t shard = 0;  // records per file; 0: one file
  const EmbeddingFormat* format = nullptr;

  // Names for file number `number`, from 0.
  std::string file(std::int64_t number) const;
  std::string index(std::int64_t number) const { return file(number) + ".index.tsv"; }
  std::string journal(std::int64_t number) const { return file(number) + ".journal"; }
  // What AtomicFile writes the values to, less ".partial".
  std::string values(std::int64_t number) const { return format->head ? file(number) : file(number) + ".rows"; }
  std::int64_t values_start() const;
};

// What an earlier run left that can be used.
struct ResumePoint {
  std::int64_t records = 0;                            // leading records of the input that are done
  bool complete = false;                               // all of them, and all files have their names
  std::int64_t file = 0;                               // number of the file to go on with
  std::int64_t file_records = 0, file_rows = 0;        // done in that file
  std::int64_t values_bytes = -1, journal_bytes = -1;  // to keep of its two files; -1: begin anew
};

// Compares what is there with the records of the input. `next_hash` gives record_hash of one record after the
// other and false at the end.
ResumePoint find_resume_point(const OutputPaths& paths, const EmbeddingLayout& layout,
                              const std::function<bool(std::string&)>& next_hash);

// Values of a record as they stand in files.
std::vector<std::byte> encode_values(const EmbedRecord& record, DType dtype);

// Takes records in input order.
class EmbedOutput {
 public:
  virtual ~EmbedOutput() = default;
  virtual void add(EmbedRecord& record) = 0;
  // End of a batch: what was added survives a kill of the process.
  virtual void checkpoint() = 0;
  virtual void finish() = 0;
};

std::unique_ptr<EmbedOutput> open_embed_files(const OutputPaths& paths, const EmbeddingLayout& layout,
                                              const ResumePoint& resume);

// tsv and csv are printed record by record; npy is collected in a temporary file and printed at the end.
// Throws Error(usage) for the other formats.
std::unique_ptr<EmbedOutput> open_embed_stdout(const EmbeddingFormat& format, const EmbeddingLayout& layout);

}  // namespace biowarp
