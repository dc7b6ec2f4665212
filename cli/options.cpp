#include "options.h"

#include <fmt/format.h>

#include "biowarp/error.h"

namespace {

constexpr const char* kModelGroup = "Model and machine";
constexpr const char* kInputGroup = "Input";

}  // namespace

void ModelFlags::declare(CLI::App& app) {
  const auto add = [&](const char* names, std::string& value, const char* type, const char* description) {
    app.add_option(names, value, description)->type_name(type)->group(kModelGroup);
  };
  add("-m,--model", name_, "MODEL",
      "hub name (facebook/esm2_t33_650M_UR50D), short name (650M, t33), folder or file of a checkpoint, or "
      "random:650M[:SEED]; without it the demonstration model that comes with biowarp");
  add("--revision", revision_, "REV", "revision of a hub model (main)");
  add("--adapter", adapter_, "DIR", "PEFT LoRA adapter to merge into the weights");
  add("--dtype", dtype_, "TYPE", "arithmetic: f32 (default), bf16 or int8");
  add("--device", device_, "DEVICE", "auto (default) or cpu");
  app.add_option("--threads", threads_, "worker threads; 0 (default): every processor this process may use")
      ->type_name("N")
      ->check(CLI::Range(0, 4096))
      ->group(kModelGroup);
  app.add_flag("--tanh-gelu", tanh_gelu_, "TransformerEngine's tanh form of GELU instead of the exact one")
      ->group(kModelGroup);
}

biowarp::ModelOptions ModelFlags::read() const {
  if (device_ == "cuda" || device_.starts_with("cuda:") || device_ == "gpu") {
    throw biowarp::Error(
        biowarp::ErrorKind::device,
        fmt::format("--device {}: this build of biowarp computes on the CPU only; use --device cpu", device_));
  }
  if (device_ != "auto" && device_ != "cpu") {
    throw biowarp::Error(biowarp::ErrorKind::usage, fmt::format("expected --device auto or cpu, got '{}'", device_));
  }
  biowarp::ModelOptions options;
  options.name = name_;
  options.revision = revision_;
  options.adapter = adapter_;
  options.precision = biowarp::parse_precision(dtype_);
  options.threads = threads_;
  options.tanh_gelu = tanh_gelu_;
  return options;
}

void InputFlags::declare(CLI::App& app, bool required) {
  auto* files =
      app.add_option("IN", paths, "FASTA (plain, gzip, zstd) or CSV/TSV files, in this order; - is standard input");
  files->type_name("FILE")->required(required);
  app.add_option("--seq-col", read.sequence_column, "CSV/TSV: column with the sequence (sequence or seq)")
      ->type_name("NAME")
      ->group(kInputGroup);
  app.add_option("--id-col", read.id_column, "CSV/TSV: column with the id (id, name, entry or accession)")
      ->type_name("NAME")
      ->group(kInputGroup);
  app.add_flag("--strip-gaps", letters.strip_gaps, "drop '-' and '.' instead of reading them as gap tokens")
      ->group(kInputGroup);
  app.add_flag("--soft-mask", letters.soft_mask_to_x, "read lower-case letters as X instead of upper-casing them")
      ->group(kInputGroup);
}

void declare_tokens(CLI::App& app, std::int64_t& tokens) {
  app.add_option("--tokens", tokens, "tokens of a batch; 0 (default): chosen from the model and the free memory")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->group(kModelGroup);
}

void declare_keep_going(CLI::App& app, bool& keep_going) {
  app.add_flag("--keep-going", keep_going, "exit with 0 although records were skipped");
}

biowarp::Model load_model(const ModelFlags& flags) {
  biowarp::Model model = biowarp::Model::load(flags.read());
  const biowarp::ModelInfo& info = model.info();
  if (info.demonstration) {
    fmt::print(stderr,
               "biowarp: using the demonstration model {} that comes with biowarp. It is not Meta's ESM-2: name a "
               "model with --model for real work.\n",
               info.name);
  }
  // Of a model that nobody asked for there is nothing more to know.
  if (info.demonstration) return model;
  for (const std::string& note : info.notes) fmt::print(stderr, "biowarp: {}\n", note);
  return model;
}
