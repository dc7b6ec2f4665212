// Throughput is measured on whole passes over all sequences: packing into batches, all layers, final norm and mean
// pooling, as `biowarp embed` does them. The op table comes from a pass of its own, so that its timers cost nothing in
// the others.
#include "biowarp/bench.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <sstream>

#include "base/environment.h"
#include "base/fail.h"
#include "base/random.h"
#include "ops/pool/pool.h"
#include "seq/alphabet.h"
#include "seq/protein.h"
#include "tasks/engine.h"
#include "tasks/peak.h"

namespace biowarp {
namespace {

using Tokens = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kBuiltInCount = 64;
constexpr std::int64_t kLatencyResidues = 100;
constexpr int kLatencyRepeats = 15;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Seconds this process has lived: boot clock minus field 22 of /proc/self/stat, in clock ticks (10 ms on Linux).
double process_age() {
  std::ifstream in("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double ticks = std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 - ticks;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Tokens random_residues(std::int64_t number, std::int64_t length) {
  Tokens residues(static_cast<std::size_t>(length));
  const std::uint64_t stream = mix_bits(static_cast<std::uint64_t>(number));
  for (std::size_t i = 0; i < residues.size(); ++i) {
    residues[i] = static_cast<std::uint8_t>(esm::kFirstLetter + mix_bits(stream + i) % 20);
  }
  return residues;
}

// Lengths at the 1/32, 3/32, ... 31/32 quantiles of Swiss-Prot, drawn in turn.
std::vector<Tokens> built_in_mix(std::int64_t count) {
  constexpr std::array<std::int64_t, 16> kLengths{77,  116, 146, 177, 208, 238, 267, 295,
                                                  324, 353, 384, 421, 463, 522, 642, 1010};
  std::vector<Tokens> sequences;
  for (std::int64_t i = 0; i < count; ++i) {
    sequences.push_back(random_residues(i, kLengths[static_cast<std::size_t>(i * 7 % 16)]));
  }
  return sequences;
}

std::vector<Tokens> sequences_of(const BenchOptions& options) {
  if (options.paths.empty()) return built_in_mix(options.limit > 0 ? options.limit : kBuiltInCount);
  std::vector<Tokens> sequences;
  RecordReader reader(options.paths, options.read);
  Record record;
  while ((options.limit == 0 || static_cast<std::int64_t>(sequences.size()) < options.limit) && reader.next(record)) {
    Residues residues = read_residues(record.sequence);
    if (!residues.error.empty()) fail_input("{}, record '{}': {}", record.file, record.id, residues.error);
    const auto length = static_cast<std::int64_t>(residues.tokens.size());
    if (options.max_length > 0 && length > options.max_length) {
      residues.tokens.resize(static_cast<std::size_t>(options.max_length));
    }
    sequences.push_back(std::move(residues.tokens));
  }
  if (sequences.empty()) fail_input("{}: no records to run", options.paths.front());
  return sequences;
}

// One pass over all sequences; the pooled rows are overwritten from batch to batch.
class Pass {
 public:
  Pass(Engine& engine, const std::vector<Tokens>& sequences, std::int64_t budget)
      : engine_(engine), sequences_(sequences), budget_(budget), layer_{static_cast<int>(engine.config().layers)} {}

  void run() {
    for (const Tokens& residues : sequences_) {
      if (batch_.rows() + static_cast<std::int64_t>(residues.size()) + 2 > budget_) flush();
      batch_.add(residues, 0);
    }
    flush();
  }

 private:
  void flush() {
    if (batch_.rows() == 0) return;
    const std::int64_t width = engine_.config().hidden;
    pooled_.resize(static_cast<std::size_t>(batch_.sequences() * width));
    engine_.with_session(std::max(budget_, batch_.rows()), [&](Esm2Session& session, Context& context) {
      session.forward(batch_, layer_, [&](int, const float* hidden) {
        pool_rows(context, {hidden, batch_.cu_lens, width, Pooling::mean, pooled_.data(), width});
      });
    });
    batch_.clear();
  }

  Engine& engine_;
  const std::vector<Tokens>& sequences_;
  std::int64_t budget_;
  std::array<int, 1> layer_;
  PackedBatch batch_;
  std::vector<float> pooled_;
};

// Books memory and makes kernels: one full batch.
void warm_up(Engine& engine, const std::vector<Tokens>& sequences, std::int64_t budget) {
  std::vector<Tokens> first;
  std::int64_t tokens = 0;
  for (const Tokens& residues : sequences) {
    first.push_back(residues);
    tokens += static_cast<std::int64_t>(residues.size()) + 2;
    if (tokens >= budget) break;
  }
  Pass(engine, first, budget).run();
}

void measure_latency(Engine& engine, BenchReport& report) {
  const std::vector<Tokens> one{random_residues(0, kLatencyResidues)};
  Pass pass(engine, one, kLatencyResidues + 2);
  pass.run();
  report.first_result_seconds = process_age();
  report.latency_tokens = kLatencyResidues + 2;
  std::vector<double> seconds;
  for (int i = 0; i < kLatencyRepeats; ++i) {
    const auto start = Clock::now();
    pass.run();
    seconds.push_back(seconds_since(start));
  }
  report.latency_seconds = median(seconds);
}

void profile(Engine& engine, Pass& pass, BenchReport& report) {
  const auto with_context = [&](const std::function<void(Context&)>& body) {
    engine.with_session(1, [&](Esm2Session&, Context& context) { body(context); });
  };
  with_context([](Context& context) { context.set_profiling(true); });
  const auto start = Clock::now();
  pass.run();
  const double wall = seconds_since(start);
  OpTally tally;
  with_context([&](Context& context) {
    context.set_profiling(false);
    tally = context.take_tally();
  });

  const double all_workers = wall * report.model.threads;
  double covered = 0, flops = 0;
  for (int kind = 0; kind < kOpKinds; ++kind) {
    const double seconds = static_cast<double>(tally.nanoseconds[static_cast<std::size_t>(kind)]) * 1e-9;
    const auto work = static_cast<double>(tally.flops[static_cast<std::size_t>(kind)]);
    if (seconds == 0) continue;
    report.ops.push_back({name_of(static_cast<OpKind>(kind)), seconds, seconds / all_workers, work / seconds});
    covered += seconds;
    flops += work;
  }
  std::sort(report.ops.begin(), report.ops.end(),
            [](const BenchOp& a, const BenchOp& b) { return a.seconds > b.seconds; });
  const double waiting = std::max(0.0, all_workers - covered);
  report.ops.push_back({"waiting", waiting, waiting / all_workers, 0});
  report.flops_per_second = flops / wall;
  with_context(
      [&](Context& context) { report.peak_flops_per_second = measure_peak(context, engine.info().precision); });
}

}  // namespace

BenchReport run_bench(const BenchOptions& options) {
  if (options.repeat < 1) fail_usage("expected at least one round, got {}", options.repeat);
  BenchReport report;
  const auto start = Clock::now();
  const std::shared_ptr<Engine> engine = Engine::load(options.model);
  report.load_seconds = seconds_since(start);
  report.model = engine->info();
  report.processors = usable_processors();
  measure_latency(*engine, report);

  const std::vector<Tokens> sequences = sequences_of(options);
  report.sequences = static_cast<std::int64_t>(sequences.size());
  for (const Tokens& residues : sequences) {
    const auto length = static_cast<std::int64_t>(residues.size()) + 2;
    report.tokens += length;
    report.longest = std::max(report.longest, length);
  }
  report.budget = options.tokens > 0 ? options.tokens : engine->default_token_budget();

  const std::int64_t rounds = options.repeat + (options.ops ? 1 : 0);
  const auto tell = [&](std::int64_t done) {
    if (options.progress) options.progress(done, rounds);
  };
  warm_up(*engine, sequences, report.budget);
  Pass pass(*engine, sequences, report.budget);
  for (int round = 0; round < options.repeat; ++round) {
    const auto begin = Clock::now();
    pass.run();
    report.round_seconds.push_back(seconds_since(begin));
    tell(round + 1);
  }
  if (options.ops) profile(*engine, pass, report);
  const double seconds = median(report.round_seconds);
  report.tokens_per_second = static_cast<double>(report.tokens) / seconds;
  report.ms_per_sequence = seconds * 1e3 / static_cast<double>(report.sequences);
  report.peak_bytes = peak_resident_bytes();
  return report;
}

}  // namespace biowarp
