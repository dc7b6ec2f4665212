#include "tasks/embed_job.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "base/fail.h"
#include "base/log.h"
#include "tasks/bounded_queue.h"
#include "tasks/embed_reader.h"

namespace biowarp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kTrainedLength = 1022;  // residues of the longest chains ESM-2 was trained on
constexpr std::size_t kQueuedBatches = 2;      // between two neighbouring stages
constexpr std::size_t kReasonsKept = 5;        // in the summary

const EmbeddingFormat& format_of(const EmbedJob& job) {
  const bool plain_stdout = job.output == "-" && job.format.empty();
  return find_embedding_format(plain_stdout ? "tsv" : job.format, job.output);
}

// Counts what the summary tells, over resumed and new records alike.
class Tally {
 public:
  Tally(const EmbedSettings& settings, EmbedSummary& summary) : settings_(settings), summary_(summary) {}

  void add(const EmbedRecord& record) {
    ++summary_.records;
    if (record.letters.any()) ++summary_.changed_records;
    letters_ += record.letters;
    if (record.skipped()) {
      ++summary_.skipped;
      if (summary_.skip_reasons.size() < kReasonsKept) {
        summary_.skip_reasons.push_back(fmt::format("{}: {}", record.line.id, record.line.reason));
      }
      return;
    }
    ++summary_.embedded;
    summary_.residues += record.line.length;
    summary_.truncated += record.truncated;
    summary_.windowed += record.windows != nullptr;
    if (settings_.long_policy == LongPolicy::full && record.line.length > kTrainedLength) warn_beyond_training(record);
  }

  void finish() { summary_.letter_changes = describe(letters_); }

 private:
  void warn_beyond_training(const EmbedRecord& record) {
    if (summary_.beyond_training++ > 0) return;
    log_warn(
        "{} has {} residues. ESM-2 takes any length but was trained on up to {}; longer records are embedded "
        "whole unless --long says otherwise (their number is in the summary)",
        record.line.id, record.line.length, kTrainedLength);
  }

  const EmbedSettings& settings_;
  EmbedSummary& summary_;
  LetterChanges letters_;
};

// Letters of the whole input, counted beside the job for the time that remains. Gives up quietly: the job
// itself reports what is wrong with the input.
class TotalCount {
 public:
  explicit TotalCount(const EmbedJob& job) {
    if (!job.progress || std::find(job.inputs.begin(), job.inputs.end(), "-") != job.inputs.end()) return;
    thread_ = std::thread([this, &job] { count(job); });
  }
  ~TotalCount() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::int64_t value() const { return total_; }

 private:
  void count(const EmbedJob& job) try {
    RecordReader reader(job.inputs, job.read);
    Record record;
    std::int64_t sum = 0;
    while (!stopped_ && reader.next(record)) sum += static_cast<std::int64_t>(record.sequence.size());
    if (!stopped_) total_ = sum;
  } catch (const std::exception&) {
    total_ = -1;
  }

  std::atomic<bool> stopped_{false};
  std::atomic<std::int64_t> total_{-1};
  std::thread thread_;
};

// The first exception of several threads.
class FirstError {
 public:
  void keep() {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

class JobRun {
 public:
  JobRun(const EmbedJob& job, const EmbedSettings& settings, const ForwardPass& forward)
      : job_(job),
        settings_(settings),
        forward_(forward),
        paths_{job.output, job.shard, &format_of(job)},
        tally_(settings, summary_),
        to_compute_(kQueuedBatches),
        to_write_(kQueuedBatches),
        total_(job) {}

  EmbedSummary run() {
    const auto start = Clock::now();
    const ResumePoint resume = job_.resume ? resume_point() : ResumePoint{};
    take_over(resume);
    if (!resume.complete) {
      output_ = open_output(resume);
      run_stages();
    }
    finish_summary();
    summary_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return std::move(summary_);
  }

 private:
  ResumePoint resume_point() const {
    if (job_.output == "-") fail_usage("--resume needs an output file, not standard output");
    if (std::find(job_.inputs.begin(), job_.inputs.end(), "-") != job_.inputs.end()) {
      fail_usage("--resume reads the input twice, which standard input does not allow; name a file");
    }
    RecordReader reader(job_.inputs, job_.read);
    Record record;
    return find_resume_point(paths_, settings_.layout, [&](std::string& hash) {
      if (!reader.next(record)) return false;
      hash = record_hash(settings_, record);
      return true;
    });
  }

  // Leaves reader_ behind the records that an earlier run did.
  void take_over(const ResumePoint& resume) {
    reader_.emplace(job_.inputs, job_.read);
    Record record;
    ResumedLines lines(paths_, resume);
    while (summary_.resumed < resume.records && reader_->next(record)) {
      if (settings_.unique_ids) ids_.add(record);
      const auto prepared = prepare_record(settings_, record);
      lines.complete(prepared->line);
      tally_.add(*prepared);
      skipped_letters_ += prepared->letters_read;
      ++summary_.resumed;
    }
    resumed_residues_ = summary_.residues;
    if (summary_.resumed > 0) log_info("resumed: {} records were already done", summary_.resumed);
  }

  std::unique_ptr<EmbedOutput> open_output(const ResumePoint& resume) const {
    if (job_.output == "-") return open_embed_stdout(*paths_.format, settings_.layout);
    const std::string journal = paths_.journal(0) + ".partial";
    if (!job_.resume && std::filesystem::exists(journal)) {
      log_warn("what an interrupted run left of {} is replaced; --resume would have gone on with it", job_.output);
    }
    return open_embed_files(paths_, settings_.layout, resume);
  }

  // What computing found out about records of an earlier run: which of them were skipped.
  class ResumedLines {
   public:
    ResumedLines(const OutputPaths& paths, const ResumePoint& resume) : paths_(paths), resume_(resume) {}

    void complete(IndexLine& line) {
      IndexLine stored;
      while (!reader_ || !reader_->next(stored)) {
        if (next_file_ > resume_.file) return;
        const bool journal = next_file_ == resume_.file && !resume_.complete;
        reader_.emplace(journal ? paths_.journal(next_file_) + ".partial" : paths_.index(next_file_));
        ++next_file_;
      }
      line.reason = stored.reason;
    }

   private:
    const OutputPaths& paths_;
    const ResumePoint& resume_;
    std::int64_t next_file_ = 0;
    std::optional<IndexReader> reader_;
  };

  void run_stages() {
    std::thread reading([this] { guarded([this] { read(); }, [this] { to_compute_.close(); }); });
    std::thread writing([this] { guarded([this] { write(); }, [this] { to_write_.close(); }); });
    guarded([this] { compute(); },
            [this] {
              to_compute_.close();
              to_write_.close();
            });
    reading.join();
    writing.join();
    if (failed_ && job_.output != "-") log_info("what was done is kept: the same command with --resume goes on there");
    error_.rethrow();
  }

  // Runs one stage; afterwards, whatever happened, lets its neighbours end.
  template <class Body, class Close>
  void guarded(Body&& body, Close&& close) {
    try {
      body();
    } catch (...) {
      error_.keep();
      failed_ = true;
    }
    close();
  }

  void read() {
    BatchCutter cutter(settings_, [this](EmbedBatch batch) { return to_compute_.push(std::move(batch)); });
    Record record;
    while (reader_->next(record)) {
      if (settings_.unique_ids) ids_.add(record);
      if (!cutter.add(prepare_record(settings_, record))) return;
    }
    cutter.flush();
  }

  void compute() {
    while (auto batch = to_compute_.pop()) {
      if (failed_) return;
      summary_.run_tokens += batch->packed.rows();
      compute_batch(settings_, forward_, *batch);
      if (!to_write_.push(std::move(batch->records))) return;
    }
  }

  void write() {
    while (const auto records = to_write_.pop()) {
      for (const auto& record : *records) {
        tally_.add(*record);
        ++progress_.records;
        progress_.residues += record->letters_read;
        output_->add(*record);
      }
      output_->checkpoint();
      tell_progress();
    }
    if (!failed_) output_->finish();
  }

  void tell_progress() {
    if (!job_.progress) return;
    const std::int64_t total = total_.value();
    progress_.residues_total = total < 0 ? -1 : total - skipped_letters_;
    job_.progress(progress_);
  }

  void finish_summary() {
    tally_.finish();
    summary_.run_records = summary_.records - summary_.resumed;
    summary_.run_residues = summary_.residues - resumed_residues_;
    if (job_.output == "-") return;
    summary_.index = paths_.index(0);
    const std::int64_t files =
        paths_.shard == 0 ? 1 : std::max<std::int64_t>(1, (summary_.records + paths_.shard - 1) / paths_.shard);
    for (std::int64_t number = 0; number < files; ++number) summary_.files.push_back(paths_.file(number));
  }

  const EmbedJob& job_;
  const EmbedSettings& settings_;
  const ForwardPass& forward_;
  const OutputPaths paths_;
  EmbedSummary summary_;
  Tally tally_;
  UniqueIdCheck ids_;
  std::optional<RecordReader> reader_;
  std::unique_ptr<EmbedOutput> output_;
  BoundedQueue<EmbedBatch> to_compute_;
  BoundedQueue<std::vector<std::shared_ptr<EmbedRecord>>> to_write_;
  std::atomic<bool> failed_{false};
  FirstError error_;
  EmbedProgress progress_;
  std::int64_t skipped_letters_ = 0, resumed_residues_ = 0;  // of resumed records
  TotalCount total_;
};

std::string identity_of(const EmbedSettings& settings, const EmbedJob& job, const ModelInfo& model) {
  const EmbeddingLayout& layout = settings.layout;
  const std::string lengths = settings.long_policy == LongPolicy::full
                                  ? std::string()
                                  : fmt::format(" {}/{}", settings.max_length,
                                                settings.long_policy == LongPolicy::window ? settings.overlap : 0);
  const std::string instruction_set = model.device.substr(0, model.device.find(' '));
  return fmt::format("biowarp embeddings 1|{}|{}|{}|layers {}|{}|{}|{}|{}{}|gaps {}|soft mask {}|{}", layout.model_hash,
                     layout.precision, instruction_set, layout.layers_text(), layout.pooling,
                     layout.per_residue ? "rows" : "pooled", name_of(layout.dtype), name_of(settings.long_policy),
                     lengths, settings.letters.strip_gaps, settings.letters.soft_mask_to_x, format_of(job).name);
}

}  // namespace

void check_embed_job(const EmbedJob& job) {
  if (job.inputs.empty()) fail_usage("expected at least one input file");
  if (job.output.empty()) fail_usage("expected an output file (-o)");
  if (job.layers.empty()) fail_usage("expected at least one layer");
  if (job.tokens < 0 || job.shard < 0) fail_usage("expected --tokens and --shard not to be negative");
  if (job.max_length < 1) fail_usage("expected --max-length of at least 1, got {}", job.max_length);
  if (job.long_policy == LongPolicy::window && (job.overlap < -1 || job.overlap >= job.max_length)) {
    fail_usage("expected --overlap from 0 to {} (less than --max-length), got {}", job.max_length - 1, job.overlap);
  }
  if (job.shard > 0 && job.output == "-") fail_usage("--shard needs an output file, not standard output");
  if (job.out_dtype != DType::f32 && job.out_dtype != DType::f16 && job.out_dtype != DType::bf16) {
    fail_usage("expected --out-dtype f32, f16 or bf16, got {}", name_of(job.out_dtype));
  }
  EmbeddingLayout layout;
  layout.per_residue = job.per_residue;
  layout.dtype = job.out_dtype;
  const std::string why_not = format_of(job).why_not(layout);
  if (!why_not.empty()) fail_usage("{}", why_not);
}

EmbedSettings resolve_job(const EmbedJob& job, const ModelInfo& model, const std::vector<int>& layers) {
  check_embed_job(job);
  EmbedSettings settings;
  EmbeddingLayout& layout = settings.layout;
  layout.per_residue = job.per_residue;
  layout.dtype = job.out_dtype;
  layout.layers = layers;
  layout.hidden = model.hidden;
  layout.pooling = job.per_residue ? "none" : std::string(name_of(job.pooling));
  layout.model = model.name;
  layout.model_hash = model.hash;
  layout.precision = name_of(model.precision);

  settings.pooling = job.pooling;
  settings.letters = job.letters;
  settings.long_policy = job.long_policy;
  settings.max_length = job.max_length;
  settings.overlap = job.overlap < 0 ? job.max_length / 2 : job.overlap;
  settings.unique_ids = job.unique_ids;
  settings.token_budget = job.tokens;
  settings.identity = identity_of(settings, job, model);
  return settings;
}

EmbedSummary run_embed_job(const EmbedJob& job, const EmbedSettings& settings, const ForwardPass& forward) {
  return JobRun(job, settings, forward).run();
}

}  // namespace biowarp
