// `biowarp extract MODEL FASTA OUTDIR`: the options of fair-esm's esm-extract.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <set>
#include <vector>

#include "biowarp/extract.h"
#include "command.h"
#include "options.h"
#include "progress.h"
#include "summary.h"

namespace {

struct Flags {
  std::string model, fasta;
  std::vector<std::string> include;
  biowarp::ExtractOptions extract;
  std::string dtype = "f32";
  int threads = 0;
  bool no_gpu = false, keep_going = false;
};

int run(const Flags& flags) {
  biowarp::ModelOptions model_options;
  model_options.name = flags.model;
  model_options.precision = biowarp::parse_precision(flags.dtype);
  model_options.threads = flags.threads;
  const biowarp::Model model = biowarp::Model::load(model_options);

  ProgressLine progress("proteins");
  biowarp::ExtractOptions options = flags.extract;
  const std::set<std::string> wanted(flags.include.begin(), flags.include.end());
  options.mean = wanted.contains("mean");
  options.per_tok = wanted.contains("per_tok");
  options.bos = wanted.contains("bos");
  options.contacts = wanted.contains("contacts");
  options.progress = [&](std::int64_t done, std::int64_t total) { progress.update(done, total); };
  options.on_skip = [&](const std::string& id, const std::string& reason) {
    progress.clear();
    fmt::print(stderr, "biowarp: warning: skipped '{}': {}\n", id, reason);
  };
  biowarp::RecordReader records({flags.fasta});
  const biowarp::RecordCounts counts = biowarp::extract(model, records, options);
  progress.clear();
  print_counts(stderr, counts, "files written");
  fmt::print(stderr, "biowarp: {}/index.tsv tells which file belongs to which record\n", options.output_dir);
  return exit_code_of(counts, flags.keep_going);
}

std::function<int()> declare(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  app.add_option("MODEL", flags->model, "hub or short name, folder or file (fair-esm .pt included)")->required();
  app.add_option("FASTA", flags->fasta, "FASTA file, plain, gzip or zstd; - is standard input")->required();
  app.add_option("OUTDIR", flags->extract.output_dir, "folder for one <label>.pt per record")->required();
  app.add_option("--include", flags->include, "what to store: mean, per_tok, bos, contacts")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"mean", "per_tok", "bos", "contacts"}))
      ->expected(1, -1)
      ->required();
  app.add_option("--repr_layers", flags->extract.layers, "0 to the number of layers; -1 (default): the last")
      ->type_name("N")
      ->expected(1, -1);
  app.add_option("--toks_per_batch", flags->extract.tokens, "tokens of a batch (4096)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app.add_option("--truncation_seq_length", flags->extract.max_length, "residues kept of a longer record (1022)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app.add_flag("--nogpu", flags->no_gpu, "compute on the CPU, as biowarp does in any case");
  app.add_option("--dtype", flags->dtype, "arithmetic: f32 (default), bf16 or int8")->type_name("TYPE");
  app.add_option("--threads", flags->threads, "worker threads; 0 (default): every processor")
      ->type_name("N")
      ->check(CLI::Range(0, 4096));
  declare_keep_going(app, flags->keep_going);
  return [flags] { return run(*flags); };
}

}  // namespace

Command extract_command() {
  return {"extract", "fair-esm's esm-extract: one .pt file per protein",
          "biowarp extract esm2_t33_650M_UR50D proteins.fasta out/ --include mean per_tok\n"
          "biowarp extract checkpoints/esm2_t6_8M_UR50D.pt proteins.fasta out/ --repr_layers 0 5 6 --include mean bos "
          "contacts",
          declare};
}
