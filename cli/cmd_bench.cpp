// `biowarp bench [IN...]`: throughput, latency, memory and time per op of a model on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "biowarp/bench.h"
#include "biowarp/version.h"
#include "command.h"
#include "json.h"
#include "options.h"
#include "progress.h"

namespace {

struct Flags {
  ModelFlags model;
  InputFlags input;
  biowarp::BenchOptions bench;
  std::string commit;
  bool json = false;
};

constexpr double kMebibyte = 1024.0 * 1024.0;

double in_mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / kMebibyte; }

double fastest(const biowarp::BenchReport& report) {
  return *std::min_element(report.round_seconds.begin(), report.round_seconds.end());
}

double slowest(const biowarp::BenchReport& report) {
  return *std::max_element(report.round_seconds.begin(), report.round_seconds.end());
}

double share_of_peak(const biowarp::BenchReport& report) {
  return report.flops_per_second / report.peak_flops_per_second;
}

void print_text(const biowarp::BenchReport& report) {
  const biowarp::ModelInfo& model = report.model;
  fmt::print("model       {} ({} layers, width {}, {} heads), {}\n", model.name, model.layers, model.hidden,
             model.heads, biowarp::name_of(model.precision));
  fmt::print("machine     {}, {} threads on {} processors\n", model.device, model.threads, report.processors);
  fmt::print("input       {} sequences, {} tokens, mean {:.0f}, longest {}; batches of {} tokens\n", report.sequences,
             report.tokens, static_cast<double>(report.tokens) / static_cast<double>(report.sequences), report.longest,
             report.budget);
  const auto tokens = static_cast<double>(report.tokens);
  fmt::print("throughput  {:.0f} tokens/s (median of {} rounds, {:.0f} to {:.0f}), {:.2f} ms per sequence\n",
             report.tokens_per_second, report.round_seconds.size(), tokens / slowest(report), tokens / fastest(report),
             report.ms_per_sequence);
  if (!report.ops.empty()) {
    fmt::print("arithmetic  {:.1f} GFLOP/s, {:.0f} % of the {:.1f} that matrix products reach in the caches\n",
               report.flops_per_second * 1e-9, share_of_peak(report) * 100, report.peak_flops_per_second * 1e-9);
  }
  fmt::print("latency     {:.2f} ms for one sequence of {} tokens\n", report.latency_seconds * 1e3,
             report.latency_tokens);
  fmt::print("start       model ready in {:.3f} s, first result {:.2f} s after the start of the process\n",
             report.load_seconds, report.first_result_seconds);
  fmt::print("memory      peak {:.0f} MiB, weights {:.0f} MiB\n", in_mebibytes(report.peak_bytes),
             in_mebibytes(model.weight_bytes));
  if (report.ops.empty()) return;
  fmt::print("\n{:<12} {:>12} {:>8} {:>18}\n", "op", "thread-sec", "share", "GFLOP/s per thread");
  for (const biowarp::BenchOp& op : report.ops) {
    const std::string rate = op.flops_per_second > 0 ? fmt::format("{:.1f}", op.flops_per_second * 1e-9) : "";
    fmt::print("{:<12} {:>12.3f} {:>6.1f} % {:>18}\n", op.name, op.seconds, op.share * 100, rate);
  }
}

void print_json(const biowarp::BenchReport& report, const std::string& commit) {
  const biowarp::ModelInfo& model = report.model;
  std::vector<JsonObject> ops;
  for (const biowarp::BenchOp& op : report.ops) {
    ops.push_back(JsonObject()
                      .add("op", op.name)
                      .add("seconds", op.seconds)
                      .add("share", op.share)
                      .add("gflops_per_thread", op.flops_per_second * 1e-9));
  }
  JsonObject json;
  json.add("tool", "biowarp").add("version", biowarp::kVersion);
  if (!commit.empty()) json.add("commit", commit);
  json.add("machine", model.device).add("processors", report.processors).add("threads", model.threads);
  json.add("model", model.name).add("model_hash", model.hash).add("precision", biowarp::name_of(model.precision));
  json.add("sequences", report.sequences).add("tokens", report.tokens).add("longest", report.longest);
  json.add("budget", report.budget).add("round_seconds", report.round_seconds);
  json.add("tokens_per_second", report.tokens_per_second);
  json.add("tokens_per_second_best", static_cast<double>(report.tokens) / fastest(report));
  json.add("ms_per_sequence", report.ms_per_sequence);
  if (!ops.empty()) {
    json.add("gflops", report.flops_per_second * 1e-9).add("peak_gflops", report.peak_flops_per_second * 1e-9);
    json.add("share_of_peak", share_of_peak(report));
  }
  json.add("latency_ms", report.latency_seconds * 1e3).add("latency_tokens", report.latency_tokens);
  json.add("load_seconds", report.load_seconds).add("first_result_seconds", report.first_result_seconds);
  json.add("peak_mib", in_mebibytes(report.peak_bytes)).add("weights_mib", in_mebibytes(model.weight_bytes));
  if (!ops.empty()) json.add("ops", ops);
  fmt::print("{}\n", json.text());
}

int run(const Flags& flags) {
  biowarp::BenchOptions options = flags.bench;
  options.model = flags.model.read();
  options.paths = flags.input.paths;
  options.read = flags.input.read;
  ProgressLine progress("rounds");
  options.progress = [&](std::int64_t done, std::int64_t total) { progress.update(done, total); };
  const biowarp::BenchReport report = biowarp::run_bench(options);
  progress.clear();
  if (flags.json) {
    print_json(report, flags.commit);
  } else {
    print_text(report);
  }
  return 0;
}

std::function<int()> declare(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  flags->input.declare(app, false);
  app.add_option("--limit", flags->bench.limit, "first N records (all of a file; 64 of the built-in mix of lengths)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--max-length", flags->bench.max_length, "crop records to N residues (1022); 0: full length")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--repeat", flags->bench.repeat, "timed rounds (3)")->type_name("N")->check(CLI::Range(1, 1000));
  app.add_flag("!--no-ops", flags->bench.ops, "leave out the table of ops, which takes a round of its own");
  app.add_flag("--json", flags->json, "print one line of JSON");
  app.add_option("--commit", flags->commit, "commit of the source, to be written into the JSON")->type_name("ID");
  declare_tokens(app, flags->bench.tokens);
  flags->model.declare(app);
  return [flags] { return run(*flags); };
}

}  // namespace

Command bench_command() {
  return {"bench", "throughput, latency, memory and time per op of a model on this machine",
          "biowarp bench --model random:650M --dtype bf16\n"
          "biowarp bench proteins.fasta.gz --limit 300 --model random:8M --threads 2 --json",
          declare};
}
