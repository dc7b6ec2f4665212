// What commands say about the records of a job, on stderr, and the exit code that follows.
#pragma once

#include <cstdio>

#include "biowarp/records.h"
#include "progress.h"

// Prints the first skipped records with their reasons; the rest is only counted.
class SkippedRecords {
 public:
  explicit SkippedRecords(ProgressLine& progress) : progress_(progress) {}
  biowarp::SkipHandler handler();

 private:
  ProgressLine& progress_;
  std::int64_t printed_ = 0;
};

// "20 records, 7,412 residues: 19 contact maps, 1 skipped" and what was changed.
void print_counts(std::FILE* out, const biowarp::RecordCounts& counts, const char* results);

int exit_code_of(const biowarp::RecordCounts& counts, bool keep_going);
