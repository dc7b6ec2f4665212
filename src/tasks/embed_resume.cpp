// What an interrupted or finished run left, compared with the input (find_resume_point of embed_output.h).
#include <filesystem>
#include <memory>

#include "io/file.h"
#include "tasks/embed_output.h"

namespace biowarp {
namespace {

// The leftovers of one output file: a journal with values beside it, or the finished file with its index.
class Leftovers {
 public:
  Leftovers(const OutputPaths& paths, const EmbeddingLayout& layout, std::int64_t number)
      : layout_(layout), values_bytes_(paths.values_start()) {
    const std::string values = paths.values(number) + ".partial";
    const std::string journal = paths.journal(number) + ".partial";
    std::error_code error;
    unfinished_ = std::filesystem::exists(journal, error) && std::filesystem::exists(values, error);
    if (unfinished_) {
      available_ = static_cast<std::int64_t>(std::filesystem::file_size(values, error));
      unfinished_ = !error && available_ >= values_bytes_;
    }
    finished_ = !unfinished_ && std::filesystem::exists(paths.file(number), error);
    lines_ = std::make_unique<IndexReader>(unfinished_ ? journal : paths.index(number));
  }

  bool finished() const { return finished_ && lines_->valid(); }
  bool unfinished() const { return unfinished_ && journal_bytes_ >= 0; }

  // True when the next line belongs to this record and its values are there.
  bool matches(const std::string& hash) {
    IndexLine line;
    if (journal_bytes_ < 0) journal_bytes_ = lines_->valid() ? lines_->position() : -1;
    if (!lines_->next(line) || line.hash != hash) return false;
    if (!line.skipped()) {
      if (line.row != rows_) return false;
      if (unfinished_ && values_bytes_ + layout_.bytes_of(line.length) > available_) return false;
      values_bytes_ += layout_.bytes_of(line.length);
      ++rows_;
    }
    ++records_;
    journal_bytes_ = lines_->position();
    return true;
  }

  // True when no line is left.
  bool at_end() {
    IndexLine line;
    return !lines_->next(line);
  }

  std::int64_t records() const { return records_; }

  ResumePoint point(std::int64_t number, std::int64_t records_before) const {
    if (!unfinished()) return {records_before, false, number, 0, 0, -1, -1};
    return {records_before + records_, false, number, records_, rows_, values_bytes_, journal_bytes_};
  }

 private:
  const EmbeddingLayout& layout_;
  std::unique_ptr<IndexReader> lines_;
  bool unfinished_ = false, finished_ = false;
  std::int64_t available_ = 0;  // bytes of the values file
  std::int64_t records_ = 0, rows_ = 0;
  std::int64_t values_bytes_, journal_bytes_ = -1;
};

}  // namespace

ResumePoint find_resume_point(const OutputPaths& paths, const EmbeddingLayout& layout,
                              const std::function<bool(std::string&)>& next_hash) {
  std::int64_t before = 0;  // records of earlier files
  for (std::int64_t number = 0;; ++number) {
    Leftovers left(paths, layout, number);
    std::string hash;
    bool input_ended = false;
    while (!input_ended && (paths.shard == 0 || left.records() < paths.shard)) {
      input_ended = !next_hash(hash);
      if (!input_ended && !left.matches(hash)) return left.point(number, before);
    }
    const bool no_file_needed = input_ended && number > 0 && left.records() == 0;
    if (!no_file_needed && !(left.finished() && left.at_end())) return left.point(number, before);
    // A run that was killed behind its last rename leaves the journal of a file that is whole.
    std::error_code ignored;
    std::filesystem::remove(paths.journal(number) + ".partial", ignored);
    before += left.records();
    if (input_ended) return {before, true, number - (no_file_needed ? 1 : 0), 0, 0, -1, -1};
  }
}

}  // namespace biowarp
