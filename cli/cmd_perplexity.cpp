// `biowarp perplexity IN...`: masked-LM perplexity, or pseudo-perplexity with --pseudo.
#include <fmt/format.h>

#include <memory>

#include "biowarp/error.h"
#include "biowarp/perplexity.h"
#include "command.h"
#include "json.h"
#include "options.h"
#include "progress.h"
#include "summary.h"

namespace {

constexpr const char* kMaskGroup = "Masks";

struct Flags {
  ModelFlags model;
  InputFlags input;
  biowarp::MaskOptions masks;
  biowarp::ScoringOptions scoring;
  std::string scheme = "80/10/10", random = "aa", dump_masks, group_by;
  bool pseudo = false, json = false, keep_going = false;
};

// "loss 2.5510, perplexity 12.821 over 1,234 positions"
std::string loss_text(const biowarp::MaskedLoss& loss) {
  if (loss.positions == 0) return "no residue was selected, so there is no loss";
  return fmt::format("perplexity {:.4f}, loss {:.6f} nats, {} positions", loss.perplexity, loss.loss, loss.positions);
}

JsonObject loss_json(const biowarp::MaskedLoss& loss) {
  return JsonObject().add("perplexity", loss.perplexity).add("loss", loss.loss).add("positions", loss.positions);
}

JsonObject head_json(const biowarp::Model& model, const biowarp::RecordCounts& counts, const std::string& definition) {
  const biowarp::ModelInfo& info = model.info();
  return JsonObject()
      .add("model", info.name)
      .add("model_hash", info.hash)
      .add("precision", biowarp::name_of(info.precision))
      .add("definition", definition)
      .add("records", counts.records)
      .add("skipped", counts.skipped)
      .add("cropped", counts.cropped)
      .add("residues", counts.residues)
      .add("changes", counts.changes);
}

void print_masked(std::FILE* out, const biowarp::Model& model, const biowarp::PerplexityReport& report,
                  const Flags& flags) {
  if (flags.json) {
    JsonObject json = head_json(model, report.counts, report.definition);
    json.add("perplexity", report.total.perplexity);
    json.add("loss", report.total.loss);
    json.add("positions", report.total.positions);
    if (!flags.group_by.empty()) {
      JsonObject groups;
      for (const auto& [prefix, loss] : report.groups) groups.add(prefix, loss_json(loss));
      json.add("groups", groups);
    }
    fmt::print(out, "{}\n", json.text());
    return;
  }
  fmt::print(out, "masked-LM {}\n", loss_text(report.total));
  if (!flags.group_by.empty()) {
    for (const auto& [prefix, loss] : report.groups) fmt::print(out, "  {:<12} {}\n", prefix, loss_text(loss));
  }
  fmt::print(out, "definition: {}\n", report.definition);
}

void print_pseudo(std::FILE* out, const biowarp::Model& model, const biowarp::PseudoReport& report, bool as_json) {
  if (as_json) {
    JsonObject json = head_json(model, report.counts, report.definition);
    json.add("pll_sum", report.pll_sum).add("pll_mean", report.pll_mean).add("pppl", report.pppl);
    fmt::print(out, "{}\n", json.text());
    return;
  }
  if (report.counts.residues == 0) {
    fmt::print(out, "no residues, so there is no pseudo-perplexity\n");
  } else {
    fmt::print(out, "pll_sum {:.6f}\npll_mean {:.6f}\npppl {:.4f}\n", report.pll_sum, report.pll_mean, report.pppl);
  }
  fmt::print(out, "definition: {}\n", report.definition);
}

void refuse_masks_with_pseudo(const CLI::App& app) {
  for (const char* name : {"--mask-rate", "--scheme", "--random", "--seed", "--masks", "--dump-masks", "--group-by"}) {
    if (app.count(name) == 0) continue;
    throw biowarp::Error(biowarp::ErrorKind::usage,
                         fmt::format("{} has no meaning with --pseudo, which masks every residue once", name));
  }
}

int run(const CLI::App& app, const Flags& flags) {
  if (flags.pseudo) refuse_masks_with_pseudo(app);
  biowarp::MaskOptions masks = flags.masks;
  masks.scheme = biowarp::parse_mask_scheme(flags.scheme);
  masks.random = biowarp::parse_random_letters(flags.random);

  const biowarp::Model model = load_model(flags.model);
  ProgressLine progress("records");
  SkippedRecords skipped(progress);
  biowarp::ScoringOptions scoring = flags.scoring;
  scoring.letters = flags.input.letters;
  scoring.progress = [&](std::int64_t done, std::int64_t total) { progress.update(done, total); };
  scoring.on_skip = skipped.handler();
  biowarp::RecordReader records(flags.input.paths, flags.input.read);

  // The table goes to standard output when it is asked for there; the result then goes to stderr.
  std::FILE* out = scoring.records_file == "-" ? stderr : stdout;
  biowarp::RecordCounts counts;
  if (flags.pseudo) {
    const biowarp::PseudoReport report = biowarp::pseudo_perplexity(model, records, scoring);
    progress.clear();
    print_pseudo(out, model, report, flags.json);
    counts = report.counts;
  } else {
    const biowarp::PerplexityReport report =
        biowarp::masked_perplexity(model, records, masks, scoring, flags.dump_masks);
    progress.clear();
    print_masked(out, model, report, flags);
    counts = report.counts;
  }
  print_counts(stderr, counts, "scored");
  return exit_code_of(counts, flags.keep_going);
}

void declare_masks(CLI::App& app, Flags& flags) {
  const auto add = [&](const char* name, auto& value, const char* type, const char* description) {
    return app.add_option(name, value, description)->type_name(type)->group(kMaskGroup);
  };
  add("--mask-rate", flags.masks.rate, "P", "probability that a residue is selected (0.15)");
  add("--scheme", flags.scheme, "SCHEME",
      "80/10/10 (default): selected residues shown as <mask>, a random letter, themselves; mask: always <mask>");
  add("--random", flags.random, "SET", "random letters from aa, the 20 amino acids (default), or vocab, all 33 tokens");
  add("--seed", flags.masks.seed, "N", "seed of the selection (0); it depends on record and residue number only");
  add("--masks", flags.masks.masks_file, "FILE", "take selections from this table (format: docs/perplexity.md)")
      ->excludes("--mask-rate")
      ->excludes("--scheme")
      ->excludes("--random")
      ->excludes("--seed");
  add("--dump-masks", flags.dump_masks, "FILE", "write the selections as such a table");
}

std::function<int()> declare(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  flags->input.declare(app);
  app.add_flag("--pseudo", flags->pseudo,
               "pseudo-perplexity: every residue scored with only itself masked (L passes for L residues)");
  app.add_option("--max-length", flags->scoring.max_length,
                 "use the first N residues of a record (1022, what ESM-2 was trained on); 0: all")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  app.add_option("-o,--output", flags->scoring.records_file, "table with one row per record; - is standard output")
      ->type_name("OUT.tsv");
  app.add_option("--group-by", flags->group_by, "prefix: also report by what stands before the first ':' or '|' of ids")
      ->type_name("KEY")
      ->check(CLI::IsMember({"prefix"}));
  app.add_flag("--json", flags->json, "print the result as one line of JSON");
  declare_keep_going(app, flags->keep_going);
  declare_masks(app, *flags);
  declare_tokens(app, flags->scoring.tokens);
  flags->model.declare(app);
  return [flags, &app] { return run(app, *flags); };
}

}  // namespace

Command perplexity_command() {
  return {"perplexity", "how well a model predicts masked residues; pseudo-perplexity of proteins",
          "biowarp perplexity valid.fasta.gz --model 650M\n"
          "biowarp perplexity valid.fasta.gz --scheme mask --seed 7 --dump-masks masks.tsv --json\n"
          "biowarp perplexity designs.fasta --pseudo -o designs.tsv --model 650M",
          declare};
}
