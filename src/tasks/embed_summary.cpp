// What an embed job says at its end, for people and for programs (biowarp/embed.h).
#include <fmt/format.h>

#include <algorithm>

#include "biowarp/embed.h"
#include "io/json_text.h"

namespace biowarp {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

// 1234567 -> "1,234,567"
std::string grouped(std::int64_t value) {
  std::string text = std::to_string(value);
  for (auto at = static_cast<std::int64_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(text.begin() + at, ',');
  }
  return text;
}

std::string proteins(std::int64_t count) { return fmt::format("{} protein{}", grouped(count), count == 1 ? "" : "s"); }

double per_second(std::int64_t count, const EmbedSummary& summary) {
  return summary.seconds > 0 ? static_cast<double>(count) / summary.seconds : 0.0;
}

double flops_per_second(const EmbedSummary& summary) {
  return summary.seconds > 0 ? summary.flops / summary.seconds : 0.0;
}

double share_of_peak(const EmbedSummary& summary) { return flops_per_second(summary) / summary.peak_flops_per_second; }

class Lines {
 public:
  void add(std::string_view label, std::string_view text) { out_ += fmt::format("  {:<11}{}\n", label, text); }
  void more(std::string_view text) { add("", text); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string where_to(const EmbedSummary& summary) {
  if (summary.files.empty()) return "standard output";
  if (summary.files.size() == 1) return summary.files.front();
  return fmt::format("{} .. {} ({} files)", summary.files.front(), summary.files.back(), summary.files.size());
}

void add_changes(Lines& lines, const EmbedSummary& summary) {
  if (summary.truncated > 0) lines.add("truncated", proteins(summary.truncated));
  if (summary.windowed > 0) {
    lines.add("windowed", fmt::format("{} merged from windows", proteins(summary.windowed)));
  }
  if (summary.beyond_training > 0) {
    lines.add("long", fmt::format("{} of more than 1,022 residues embedded whole (longer than any in training)",
                                  proteins(summary.beyond_training)));
  }
  if (!summary.letter_changes.empty()) {
    lines.add("letters", fmt::format("{} (in {})", summary.letter_changes, proteins(summary.changed_records)));
  }
}

void add_skipped(Lines& lines, const EmbedSummary& summary) {
  if (summary.skipped == 0) return;
  lines.add("skipped", fmt::format("{} without an embedding:", proteins(summary.skipped)));
  for (const std::string& reason : summary.skip_reasons) lines.more(reason);
  const auto shown = static_cast<std::int64_t>(summary.skip_reasons.size());
  if (summary.skipped > shown) lines.more(fmt::format("... and {} more", grouped(summary.skipped - shown)));
}

}  // namespace

std::string describe(const EmbedSummary& summary) {
  Lines lines;
  lines.add("embedded", fmt::format("{} of {}, {} residues", grouped(summary.embedded), proteins(summary.records),
                                    grouped(summary.residues)));
  if (summary.resumed > 0) {
    lines.add("resumed", fmt::format("{} of them were done by an earlier run", grouped(summary.resumed)));
  }
  add_changes(lines, summary);
  add_skipped(lines, summary);
  lines.add("model", fmt::format("{}, {} on {}", summary.model, name_of(summary.precision), summary.device));
  lines.add("time", fmt::format("{:.1f} s: {:.1f} proteins/s, {} residues/s", summary.seconds,
                                per_second(summary.run_records, summary),
                                grouped(static_cast<std::int64_t>(per_second(summary.run_residues, summary)))));
  if (summary.peak_flops_per_second > 0) {
    lines.add("arithmetic",
              fmt::format("{:.1f} GFLOP/s, {:.0f} % of the {:.0f} that this machine reached in matrix products",
                          flops_per_second(summary) / 1e9, 100 * share_of_peak(summary),
                          summary.peak_flops_per_second / 1e9));
  }
  lines.add("memory", fmt::format("{:.0f} MiB at its peak", static_cast<double>(summary.peak_bytes) / kMiB));
  lines.add("output", where_to(summary));
  if (!summary.index.empty()) lines.add("index", summary.index);
  return lines.take();
}

std::string to_json(const EmbedSummary& summary) {
  JsonText json;
  json.add("model", summary.model).add("model_hash", summary.model_hash).add("device", summary.device);
  json.add("precision", name_of(summary.precision)).add("demonstration_model", summary.demonstration);
  json.add("files", summary.files).add("index", summary.index);
  json.add("records", summary.records).add("embedded", summary.embedded).add("skipped", summary.skipped);
  json.add("resumed", summary.resumed).add("truncated", summary.truncated).add("windowed", summary.windowed);
  json.add("beyond_training_length", summary.beyond_training).add("residues", summary.residues);
  json.add("letter_changes", summary.letter_changes).add("changed_records", summary.changed_records);
  json.add("skip_reasons", summary.skip_reasons);

  const double runs = static_cast<double>(std::max<std::int64_t>(summary.run_records, 1));
  json.add("seconds", summary.seconds).add("ms_per_sequence", summary.seconds * 1000 / runs);
  json.add("sequences_per_second", per_second(summary.run_records, summary));
  json.add("residues_per_second", per_second(summary.run_residues, summary));
  json.add("tokens_per_second", per_second(summary.run_tokens, summary));
  json.add("gflops_per_second", flops_per_second(summary) / 1e9);
  if (summary.peak_flops_per_second > 0) {
    json.add("peak_gflops_per_second", summary.peak_flops_per_second / 1e9)
        .add("share_of_peak", share_of_peak(summary));
  }
  json.add("peak_memory_bytes", summary.peak_bytes);
  return json.text();
}

}  // namespace biowarp
