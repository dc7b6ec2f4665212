#include "tasks/readable_records.h"

#include "base/fail.h"

namespace biowarp {

bool ReadableRecords::next(Record& record, std::vector<std::uint8_t>& residues) {
  while (records_.next(record)) {
    ++counts_.records;
    Residues read = read_residues(record.sequence, options_.letters);
    if (!record.error.empty()) read.error = record.error;
    const auto length = static_cast<std::int64_t>(read.tokens.size());
    const bool crop = options_.crop > 0 && length > options_.crop;
    const std::int64_t kept = crop ? options_.crop : length;
    if (read.error.empty() && kept > options_.longest) {
      read.error = fmt::format("{} residues do not fit into the free memory, at most {} do", kept, options_.longest);
    }
    if (!read.error.empty()) {
      ++counts_.skipped;
      if (options_.on_skip) options_.on_skip(record, read.error);
      continue;
    }
    counts_.cropped += crop ? 1 : 0;
    counts_.residues += kept;
    changes_ += read.changes;
    residues = std::move(read.tokens);
    residues.resize(static_cast<std::size_t>(kept));
    return true;
  }
  return false;
}

RecordCounts ReadableRecords::counts() const {
  RecordCounts counts = counts_;
  counts.changes = describe(changes_);
  return counts;
}

}  // namespace biowarp
