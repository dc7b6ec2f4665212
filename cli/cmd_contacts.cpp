// `biowarp contacts IN... -o OUT.npz|OUT.tsv`
#include <memory>

#include "biowarp/contacts.h"
#include "command.h"
#include "options.h"
#include "progress.h"
#include "summary.h"

namespace {

struct Flags {
  ModelFlags model;
  InputFlags input;
  biowarp::ContactOptions contacts;
  bool keep_going = false;
};

int run(const Flags& flags) {
  const biowarp::Model model = load_model(flags.model);
  ProgressLine progress("proteins");
  SkippedRecords skipped(progress);
  biowarp::ContactOptions options = flags.contacts;
  options.letters = flags.input.letters;
  options.progress = [&](std::int64_t done, std::int64_t total) { progress.update(done, total); };
  options.on_skip = skipped.handler();
  biowarp::RecordReader records(flags.input.paths, flags.input.read);
  const biowarp::RecordCounts counts = biowarp::write_contacts(model, records, options);
  progress.clear();
  print_counts(stderr, counts, "contact maps");
  return exit_code_of(counts, flags.keep_going);
}

std::function<int()> declare(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  flags->input.declare(app);
  app.add_option("-o,--output", flags->contacts.output,
                 "OUT.npz: one [L, L] map per record, named by its id; OUT.tsv or -: one row per pair (id, i, j, "
                 "probability; residues counted from 1)")
      ->type_name("OUT")
      ->required();
  app.add_option("--min-prob", flags->contacts.min_probability, "tables: leave out pairs below this (0.1)")
      ->type_name("P")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--min-sep", flags->contacts.min_separation, "tables: leave out pairs with j - i below this (6)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  declare_keep_going(app, flags->keep_going);
  flags->model.declare(app);
  return [flags] { return run(*flags); };
}

}  // namespace

Command contacts_command() {
  return {"contacts", "predict which residues of a protein touch",
          "biowarp contacts proteins.fasta -o contacts.npz --model facebook/esm2_t33_650M_UR50D\n"
          "biowarp contacts proteins.fasta.gz -o contacts.tsv --model 650M --min-prob 0.5\n"
          "cat one.fasta | biowarp contacts - -o - --model 650M | sort -k4,4gr | head",
          declare};
}
