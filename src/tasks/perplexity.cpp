// Masked and pseudo-perplexity: records in, sums in f64 in input order out, so that neither batches nor
// threads matter.
#include "biowarp/perplexity.h"

#include <cmath>
#include <cstdio>
#include <deque>
#include <numeric>
#include <optional>

#include "base/fail.h"
#include "io/file.h"
#include "tasks/letters.h"
#include "tasks/log_likelihood.h"
#include "tasks/masks.h"
#include "tasks/readable_records.h"

namespace biowarp {
namespace {

// Sum and count of natural log-probabilities.
struct LogSum {
  double sum = 0;
  std::int64_t count = 0;

  void operator+=(const LogSum& other) {
    sum += other.sum;
    count += other.count;
  }
  double mean() const { return sum / static_cast<double>(count); }
};

LogSum sum_of(std::span<const double> scores) {
  return {std::accumulate(scores.begin(), scores.end(), 0.0), static_cast<std::int64_t>(scores.size())};
}

MaskedLoss loss_of(const LogSum& scores) { return {-scores.mean(), std::exp(-scores.mean()), scores.count}; }

// "NA" for a record without scored residues.
std::string number_or_na(double value) { return std::isnan(value) ? "NA" : fmt::format("{:.9g}", value); }

// A table that goes to a file (whole or not at all), to standard output, or nowhere.
class Table {
 public:
  Table(const std::string& path, std::string_view header) {
    if (path.empty()) return;
    if (path != "-") file_.emplace(path);
    standard_output_ = path == "-";
    write(header);
  }
  void write(std::string_view rows) {
    if (file_) file_->write(rows);
    if (standard_output_) std::fwrite(rows.data(), 1, rows.size(), stdout);
  }
  void commit() {
    if (file_) file_->commit();
  }

 private:
  std::optional<AtomicFile> file_;
  bool standard_output_ = false;
};

ReadableRecords::Options reading_options(Engine& engine, const ScoringOptions& scoring) {
  if (scoring.max_length < 0) fail_usage("expected a length of at least 1, or 0 for all, got {}", scoring.max_length);
  return {scoring.letters, scoring.max_length, engine.largest_sequence() - 2, scoring.on_skip};
}

std::string crop_text(std::int64_t max_length) {
  return max_length > 0 ? fmt::format("records cropped to their first {} residues", max_length)
                        : std::string("records at full length");
}

std::string masked_definition(const MaskOptions& masks, std::int64_t max_length) {
  std::string selection;
  if (!masks.masks_file.empty()) {
    selection = fmt::format("residues and inputs as listed in {}", masks.masks_file);
  } else {
    const char* letters = masks.random == RandomLetters::vocabulary ? "token of the 33" : "amino acid";
    const std::string shown = masks.scheme == MaskScheme::mask
                                  ? std::string("all shown as <mask>")
                                  : fmt::format("80 % shown as <mask>, 10 % as a random {}, 10 % unchanged", letters);
    selection = fmt::format("{:g} % of the residues selected (seed {}), {}", masks.rate * 100, masks.seed, shown);
  }
  return fmt::format("exp of the mean of -ln p(residue) over all selected residues; {}; softmax over the 33 tokens; {}",
                     selection, crop_text(max_length));
}

std::string prefix_of(const std::string& id) {
  const auto end = id.find_first_of(":|");
  return end == std::string::npos ? id : id.substr(0, end);
}

// Masks residues and scores them, and hands every record's sum back in input order.
class MaskedScorer {
 public:
  using Sink = std::function<void(const Record& record, std::int64_t residues, const LogSum& scores)>;

  MaskedScorer(Engine& engine, std::int64_t tokens, Sink sink)
      : sink_(std::move(sink)),
        scorer_(engine, tokens, [this](std::int64_t, std::span<const double> scores) { deliver(scores); }) {}

  void add(const Record& record, std::vector<std::uint8_t> residues, std::span<const MaskedResidue> masks) {
    std::vector<ScoredResidue> scored;
    scored.reserve(masks.size());
    for (const MaskedResidue& mask : masks) {
      residues[static_cast<std::size_t>(mask.residue)] = mask.input;
      scored.push_back({mask.residue, mask.target});
    }
    waiting_.push_back({record, static_cast<std::int64_t>(residues.size())});
    waiting_.back().record.sequence.clear();
    scorer_.add(residues, scored, record.index);
  }

  void flush() { scorer_.flush(); }

 private:
  struct Waiting {
    Record record;
    std::int64_t residues;
  };

  void deliver(std::span<const double> scores) {
    sink_(waiting_.front().record, waiting_.front().residues, sum_of(scores));
    waiting_.pop_front();
  }

  Sink sink_;
  std::deque<Waiting> waiting_;
  ResidueScorer scorer_;
};

}  // namespace

PerplexityReport masked_perplexity(const Model& model, RecordReader& records, const MaskOptions& masks,
                                   const ScoringOptions& scoring, const std::string& dump_masks) {
  Engine& engine = *model.impl()->engine;
  require_lm_head(engine);
  const std::unique_ptr<MaskSource> source = open_masks(masks);
  Table table(scoring.records_file, "record\tid\tresidues\tpositions\tloss\tperplexity\n");
  Table dump(dump_masks, kMaskHeader);

  LogSum total;
  std::map<std::string, LogSum> groups;
  std::int64_t done = 0;
  MaskedScorer scorer(engine, scoring.tokens, [&](const Record& record, std::int64_t residues, const LogSum& scores) {
    total += scores;
    groups[prefix_of(record.id)] += scores;
    table.write(fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", record.index, record.id, residues, scores.count,
                            number_or_na(-scores.mean()), number_or_na(std::exp(-scores.mean()))));
    if (scoring.progress) scoring.progress(++done, -1);
  });
  ReadableRecords readable(records, reading_options(engine, scoring));
  Record record;
  std::vector<std::uint8_t> residues;
  while (readable.next(record, residues)) {
    const std::vector<MaskedResidue> selected = source->select(record.index, residues);
    dump.write(mask_rows(record.index, selected));
    scorer.add(record, std::move(residues), selected);
  }
  scorer.flush();
  source->finish();
  table.commit();
  dump.commit();

  PerplexityReport report;
  report.definition = masked_definition(masks, scoring.max_length);
  report.total = loss_of(total);
  for (const auto& [prefix, scores] : groups) {
    if (scores.count > 0) report.groups.emplace(prefix, loss_of(scores));
  }
  report.counts = readable.counts();
  return report;
}

MaskedLoss masked_loss(const Model& model, std::span<const std::string> sequences, const MaskOptions& masks,
                       std::int64_t max_length) {
  Engine& engine = *model.impl()->engine;
  require_lm_head(engine);
  if (max_length < 0) fail_usage("expected a length of at least 1, or 0 for all, got {}", max_length);
  const std::unique_ptr<MaskSource> source = open_masks(masks);
  LogSum total;
  MaskedScorer scorer(engine, 0, [&](const Record&, std::int64_t, const LogSum& scores) { total += scores; });
  Record record;
  for (const std::string& sequence : sequences) {
    std::vector<std::uint8_t> residues = residues_or_fail(sequence, record.index + 1);
    if (max_length > 0 && residues.size() > static_cast<std::size_t>(max_length)) {
      residues.resize(static_cast<std::size_t>(max_length));
    }
    const std::vector<MaskedResidue> selected = source->select(record.index, residues);
    scorer.add(record, std::move(residues), selected);
    ++record.index;
  }
  scorer.flush();
  source->finish();
  return loss_of(total);
}

PseudoReport pseudo_perplexity(const Model& model, RecordReader& records, const ScoringOptions& scoring) {
  Engine& engine = *model.impl()->engine;
  require_lm_head(engine);
  Table table(scoring.records_file, "record\tid\tresidues\tpll_sum\tpll_mean\tpppl\n");
  ReadableRecords readable(records, reading_options(engine, scoring));
  LogSum total;
  Record record;
  std::vector<std::uint8_t> residues;
  for (std::int64_t done = 1; readable.next(record, residues); ++done) {
    const LogSum scores = sum_of(pseudo_log_likelihoods(engine, residues, scoring.tokens));
    total += scores;
    table.write(fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", record.index, record.id, scores.count,
                            number_or_na(scores.count > 0 ? scores.sum : scores.mean()), number_or_na(scores.mean()),
                            number_or_na(std::exp(-scores.mean()))));
    if (scoring.progress) scoring.progress(done, -1);
  }
  table.commit();

  PseudoReport report;
  report.definition = fmt::format(
      "every residue scored with only itself shown as <mask>: pll_sum is the sum of ln p(residue) over the "
      "residues of "
      "all records, pll_mean the sum divided by their number, pppl exp(-pll_mean); softmax over the 33 "
      "tokens; {}",
      crop_text(scoring.max_length));
  report.pll_sum = total.sum;
  report.pll_mean = total.mean();
  report.pppl = std::exp(-total.mean());
  report.counts = readable.counts();
  return report;
}

}  // namespace biowarp
