// `biowarp embed IN... -o OUT`
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <memory>
#include <vector>

#include "biowarp/embed.h"
#include "biowarp/error.h"
#include "command.h"
#include "options.h"
#include "progress.h"

namespace {

constexpr const char* kOutputGroup = "Output";
constexpr const char* kLengthGroup = "Long proteins";

struct Flags {
  ModelFlags model;
  InputFlags input;
  biowarp::EmbedJob job;
  std::vector<std::string> layers;
  std::string pooling = "mean", out_dtype = "f32", long_policy = "full";
  std::string metrics;
  bool keep_going = false, json = false;
};

void write_metrics(const std::string& path, const std::string& json) {
  std::ofstream file(path);
  file << json << '\n';
  if (!file.flush()) throw biowarp::Error(biowarp::ErrorKind::input, fmt::format("cannot write {}", path));
}

// "--layers 0 33 in.fasta" takes the file too: words behind the numbers go back to the inputs.
void take_layers(const std::vector<std::string>& words, biowarp::EmbedJob& job) {
  if (words.empty()) return;
  job.layers.clear();
  std::vector<std::string> inputs;
  for (const std::string& word : words) {
    int layer = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), layer);
    const bool number = error == std::errc() && end == word.data() + word.size() && inputs.empty();
    number ? job.layers.push_back(layer) : inputs.push_back(word);
  }
  job.inputs.insert(job.inputs.begin(), inputs.begin(), inputs.end());
}

biowarp::EmbedJob job_of(const Flags& flags) {
  biowarp::EmbedJob job = flags.job;
  job.inputs = flags.input.paths;
  take_layers(flags.layers, job);
  job.read = flags.input.read;
  job.letters = flags.input.letters;
  job.pooling = biowarp::parse_pooling(flags.pooling);
  job.out_dtype = biowarp::parse_dtype(flags.out_dtype);
  job.long_policy = biowarp::parse_long_policy(flags.long_policy);
  job.measure_peak = flags.json || !flags.metrics.empty();
  return job;
}

int run(const Flags& flags) {
  biowarp::EmbedJob job = job_of(flags);
  if (flags.json && job.output == "-") {
    throw biowarp::Error(biowarp::ErrorKind::usage,
                         "--json prints on standard output, where -o - sends the embeddings");
  }
  biowarp::check_embed_job(job);
  const biowarp::Model model = load_model(flags.model);
  ProgressLine progress("residues");
  if (progress.visible()) {
    job.progress = [&](const biowarp::EmbedProgress& at) { progress.update(at.residues, at.residues_total); };
  }
  const biowarp::EmbedSummary summary = biowarp::embed(model, job);
  progress.clear();
  fmt::print(stderr, "{}", biowarp::describe(summary));
  if (flags.json) fmt::print("{}\n", biowarp::to_json(summary));
  if (!flags.metrics.empty()) write_metrics(flags.metrics, biowarp::to_json(summary));
  return summary.skipped > 0 && !flags.keep_going ? kExitSkippedRecords : 0;
}

void declare_results(CLI::App& app, Flags& flags) {
  app.add_option("--layers", flags.layers,
                 "0 (input) to the number of layers; -1 (default): the last, after the final norm")
      ->type_name("N")
      ->delimiter(',')
      ->expected(1, -1);
  app.add_option("--pool", flags.pooling, "one row per protein: mean over its residues (default), cls, max or eos")
      ->type_name("HOW");
  app.add_flag("--per-residue", flags.job.per_residue, "one row per residue instead of one per protein");
}

void declare_output(CLI::App& app, Flags& flags) {
  app.add_option("-o,--output", flags.job.output, "file to write; the suffix tells the format; - is standard output")
      ->type_name("OUT")
      ->required()
      ->group(kOutputGroup);
  app.add_option("--format", flags.job.format, "npy, npz, h5, safetensors, tsv or csv, whatever the suffix")
      ->type_name("NAME")
      ->group(kOutputGroup);
  app.add_option("--out-dtype", flags.out_dtype, "f32 (default), f16 or bf16")->type_name("TYPE")->group(kOutputGroup);
  app.add_option("--shard", flags.job.shard, "begin a new numbered file after every N records")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->group(kOutputGroup);
  app.add_flag("--resume", flags.job.resume, "go on where an interrupted run of the same command ended")
      ->group(kOutputGroup);
  app.add_flag("--unique-ids", flags.job.unique_ids, "refuse an input in which an id occurs twice")
      ->group(kOutputGroup);
  app.add_flag("--json", flags.json, "print the summary as JSON on standard output")->group(kOutputGroup);
  app.add_option("--metrics", flags.metrics, "write the summary, with speed and memory, as JSON to this file")
      ->type_name("FILE")
      ->group(kOutputGroup);
}

void declare_lengths(CLI::App& app, Flags& flags) {
  app.add_option("--long", flags.long_policy,
                 "full (default): any length; truncate, window or error: what is done above --max-length")
      ->type_name("POLICY")
      ->group(kLengthGroup);
  app.add_option("--max-length", flags.job.max_length, "residues (1022)")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->group(kLengthGroup);
  app.add_option("--overlap", flags.job.overlap,
                 "residues that neighbouring windows share, at least (half of --max-length)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->group(kLengthGroup);
}

std::function<int()> declare(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  flags->input.declare(app, false);
  declare_results(app, *flags);
  declare_output(app, *flags);
  declare_lengths(app, *flags);
  declare_keep_going(app, flags->keep_going);
  declare_tokens(app, flags->job.tokens);
  flags->model.declare(app);
  return [flags] { return run(*flags); };
}

}  // namespace

Command embed_command() {
  return {"embed", "turn proteins into vectors",
          "biowarp embed proteins.fasta -o embeddings.npy --model facebook/esm2_t33_650M_UR50D\n"
          "biowarp embed proteins.fasta.gz -o residues.h5 --per-residue --out-dtype f16 --model 650M --resume\n"
          "zcat proteins.fasta.gz | biowarp embed - -o - --layers 0,-1 --pool max | cut -f 1-5",
          declare};
}
