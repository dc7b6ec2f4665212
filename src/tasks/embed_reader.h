// The reading end of an embed job: input records become batches, in input order.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "tasks/embed_record.h"

namespace biowarp {

// Identity of a record under the settings of a job: what its result depends on, and its names.
std::string record_hash(const EmbedSettings& settings, const Record& record);

// Letters and length policy applied. Never throws for what is wrong with the record: that is its `reason`.
std::shared_ptr<EmbedRecord> prepare_record(const EmbedSettings& settings, const Record& record);

// Throws Error(input) at the first id that occurs again. Memory grows with the number of ids.
class UniqueIdCheck {
 public:
  void add(const Record& record);

 private:
  std::unordered_map<std::string, std::string> places_;  // id -> "file:line"
};

// Cuts the stream of records into batches of up to the token budget. A segment longer than the budget is
// alone.
class BatchCutter {
 public:
  // `emit` takes every batch; false ends the job.
  using Emit = std::function<bool(EmbedBatch)>;
  BatchCutter(const EmbedSettings& settings, Emit emit) : settings_(settings), emit_(std::move(emit)) {}

  // Both return false once emit did.
  bool add(std::shared_ptr<EmbedRecord> record);
  bool flush();

 private:
  bool add_segment(const std::shared_ptr<EmbedRecord>& record, std::int64_t window);

  const EmbedSettings& settings_;
  Emit emit_;
  EmbedBatch batch_;
};

}  // namespace biowarp
