#include "summary.h"

#include <fmt/format.h>

#include "command.h"

biowarp::SkipHandler SkippedRecords::handler() {
  return [this](const biowarp::Record& record, const std::string& reason) {
    constexpr std::int64_t kPrinted = 20;
    if (++printed_ > kPrinted) return;
    progress_.clear();
    fmt::print(stderr, "biowarp: warning: skipped record {} '{}' ({}, line {}): {}\n", record.index + 1, record.id,
               record.file, record.line, reason);
    if (printed_ == kPrinted) fmt::print(stderr, "biowarp: further skipped records are only counted\n");
  };
}

void print_counts(std::FILE* out, const biowarp::RecordCounts& counts, const char* results) {
  fmt::print(out, "biowarp: {} records, {} residues: {} {}, {} skipped\n", counts.records, counts.residues,
             counts.records - counts.skipped, results, counts.skipped);
  if (counts.cropped > 0) fmt::print(out, "biowarp: {} records cropped\n", counts.cropped);
  if (!counts.changes.empty()) fmt::print(out, "biowarp: letters: {}\n", counts.changes);
}

int exit_code_of(const biowarp::RecordCounts& counts, bool keep_going) {
  return counts.skipped > 0 && !keep_going ? kExitSkippedRecords : 0;
}
