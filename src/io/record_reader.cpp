#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fail.h"
#include "biowarp/sequence.h"
#include "io/byte_stream.h"
#include "io/record_stream.h"

namespace biowarp {
namespace {

void check_paths(const std::vector<std::string>& paths) {
  if (std::count(paths.begin(), paths.end(), "-") > 1) {
    fail_usage("expected standard input ('-') once among the inputs, got it {} times",
               std::count(paths.begin(), paths.end(), "-"));
  }
  for (const std::string& path : paths) {
    if (path != "-" && access(path.c_str(), R_OK) != 0) fail_input("cannot open {}: {}", path, std::strerror(errno));
  }
}

}  // namespace

struct RecordReader::State {
  std::vector<std::string> paths;
  ReadOptions options;
  std::size_t opened = 0;                // paths opened so far; the current one is the last of them
  std::unique_ptr<RecordStream> stream;  // null between two inputs
  std::int64_t records = 0;

  // False when there are no more inputs.
  bool open_next() {
    if (opened == paths.size()) return false;
    const std::string& path = paths[opened++];
    stream = open_records(open_bytes(path), name_of_input(path), options);
    return true;
  }
};

RecordReader::RecordReader(std::vector<std::string> paths, ReadOptions options) : state_(std::make_unique<State>()) {
  check_paths(paths);
  state_->paths = std::move(paths);
  state_->options = std::move(options);
}
RecordReader::~RecordReader() = default;
RecordReader::RecordReader(RecordReader&&) noexcept = default;
RecordReader& RecordReader::operator=(RecordReader&&) noexcept = default;

bool RecordReader::next(Record& record) {
  while (state_->stream || state_->open_next()) {
    if (state_->stream->next(record)) {
      record.index = state_->records++;
      record.file = state_->paths[state_->opened - 1];
      if (record.id.empty()) record.id = fmt::format("record_{}", state_->records);
      return true;
    }
    state_->stream.reset();
  }
  return false;
}

std::vector<Record> read_fasta(const std::string& path, const ReadOptions& options) {
  RecordReader reader({path}, options);
  std::vector<Record> records;
  for (Record record; reader.next(record);) records.push_back(record);
  return records;
}

}  // namespace biowarp
