#include "tasks/embed_reader.h"

#include <span>

#include "base/fail.h"
#include "base/hash.h"

namespace biowarp {
namespace {

constexpr std::int64_t kMostRecordsPerBatch = 16384;  // bounds batches of skipped or very short records

void add_change(std::string& changes, const std::string& change) {
  if (!change.empty()) changes += (changes.empty() ? "" : "; ") + change;
}

void truncate(EmbedRecord& record, std::int64_t length) {
  add_change(record.line.changes, fmt::format("truncated from {} to {} residues", record.length(), length));
  record.tokens.resize(static_cast<std::size_t>(length));
  record.truncated = true;
}

void cut_into_windows(EmbedRecord& record, const EmbedSettings& settings) {
  record.windows = std::make_unique<Windows>(record.length(), settings.max_length, settings.overlap);
  add_change(record.line.changes,
             fmt::format("merged from {} windows of {} residues", record.windows->count(), settings.max_length));
}

void apply_long_policy(EmbedRecord& record, const EmbedSettings& settings) {
  if (settings.long_policy == LongPolicy::full || record.length() <= settings.max_length) return;
  switch (settings.long_policy) {
    case LongPolicy::full: return;
    case LongPolicy::truncate: return truncate(record, settings.max_length);
    case LongPolicy::window: return cut_into_windows(record, settings);
    case LongPolicy::error:
      record.line.reason = fmt::format("{} residues, and --long error allows {}", record.length(), settings.max_length);
  }
}

// Tokens of the longest piece that is computed at once.
std::int64_t segment_tokens(const EmbedRecord& record) {
  return (record.windows ? record.windows->length() : record.length()) + 2;
}

void check_memory(EmbedRecord& record, const EmbedSettings& settings) {
  const std::int64_t tokens = segment_tokens(record);
  if (tokens <= settings.largest_tokens) return;
  record.line.reason = fmt::format("{} residues do not fit the memory, which allows {}; try --long window", tokens - 2,
                                   std::max<std::int64_t>(settings.largest_tokens - 2, 0));
}

}  // namespace

std::string record_hash(const EmbedSettings& settings, const Record& record) {
  ContentHash hash;
  hash.add_text(settings.identity).add_text(record.id).add_text(record.description).add_text(record.sequence);
  return hash.hex();
}

std::shared_ptr<EmbedRecord> prepare_record(const EmbedSettings& settings, const Record& record) {
  auto prepared = std::make_shared<EmbedRecord>();
  IndexLine& line = prepared->line;
  line.id = record.id;
  line.description = record.description;
  line.hash = record_hash(settings, record);

  Residues residues = read_residues(record.sequence, settings.letters);
  if (!record.error.empty()) residues.error = record.error;
  prepared->tokens = std::move(residues.tokens);
  prepared->letters = residues.changes;
  prepared->letters_read = static_cast<std::int64_t>(record.sequence.size());
  line.changes = describe(residues.changes);
  if (!residues.error.empty()) {
    line.reason = fmt::format("{}:{}: {}", record.file, record.line, residues.error);
    line.length = prepared->letters_read;
    return prepared;
  }
  if (prepared->tokens.empty()) line.reason = "no residues";
  apply_long_policy(*prepared, settings);
  if (!prepared->skipped()) check_memory(*prepared, settings);
  line.length = prepared->length();
  return prepared;
}

void UniqueIdCheck::add(const Record& record) {
  const std::string place = fmt::format("{}:{}", record.file, record.line);
  const auto [found, added] = places_.try_emplace(record.id, place);
  if (!added)
    fail_input("expected every id once (--unique-ids), but '{}' stands in {} and in {}", record.id, found->second,
               place);
}

bool BatchCutter::add(std::shared_ptr<EmbedRecord> record) {
  if (!record->skipped()) {
    const std::int64_t windows = record->windows ? record->windows->count() : 1;
    for (std::int64_t window = 0; window < windows; ++window) {
      if (!add_segment(record, window)) return false;
    }
  }
  batch_.records.push_back(std::move(record));
  return static_cast<std::int64_t>(batch_.records.size()) < kMostRecordsPerBatch || flush();
}

bool BatchCutter::add_segment(const std::shared_ptr<EmbedRecord>& record, std::int64_t window) {
  const std::int64_t tokens = segment_tokens(*record);
  if (batch_.packed.rows() > 0 && batch_.packed.rows() + tokens > settings_.token_budget && !flush()) return false;
  const std::int64_t first = record->windows ? record->windows->start(window) : 0;
  batch_.packed.add(
      std::span(record->tokens).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(tokens - 2)),
      static_cast<std::int64_t>(batch_.segments.size()));
  batch_.segments.push_back({record, window});
  return true;
}

bool BatchCutter::flush() {
  if (batch_.segments.empty() && batch_.records.empty()) return true;
  return emit_(std::exchange(batch_, {}));
}

}  // namespace biowarp
