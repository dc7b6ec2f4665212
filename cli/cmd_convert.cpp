// `biowarp convert SRC DST --to hf|nv_esm`
#include <fmt/format.h>

#include <memory>

#include "biowarp/checkpoint.h"
#include "command.h"
#include "progress.h"

namespace {

struct Flags {
  biowarp::ConvertOptions convert;
  std::string format = "hf", dtype = "keep";
};

int run(Flags flags) {
  flags.convert.format = biowarp::parse_checkpoint_format(flags.format);
  if (flags.dtype != "keep") flags.convert.dtype = biowarp::parse_dtype(flags.dtype);
  constexpr std::int64_t kMiB = 1 << 20;
  ProgressLine progress("MiB");
  flags.convert.progress = [&](std::int64_t done, std::int64_t total) { progress.update(done / kMiB, total / kMiB); };
  const biowarp::ConvertReport report = biowarp::convert_checkpoint(flags.convert);
  progress.clear();
  for (const std::string& note : report.notes) fmt::print(stderr, "note: {}\n", note);
  fmt::print(stderr, "{}: {} tensors, {:.1f} MiB\n", flags.convert.destination, report.tensors,
             static_cast<double>(report.bytes) / static_cast<double>(kMiB));
  return 0;
}

std::function<int()> declare(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  app.add_option("SRC", flags->convert.source.name, "model to read: name, folder or file, in any naming")->required();
  app.add_option("DST", flags->convert.destination, "folder to write; it must not exist")->required();
  app.add_option("--to", flags->format, "hf (transformers, the default) or nv_esm (NVIDIA TransformerEngine)")
      ->type_name("FORMAT");
  app.add_option("--dtype", flags->dtype, "keep (as stored, the default), f32, f16 or bf16")->type_name("TYPE");
  app.add_option("--revision", flags->convert.source.revision, "revision on the hub (main)")->type_name("NAME");
  app.add_option("--adapter", flags->convert.source.adapter, "PEFT LoRA folder to merge")->type_name("DIR");
  return [flags] { return run(*flags); };
}

}  // namespace

Command convert_command() {
  return {"convert", "write a model as a Hugging Face or NVIDIA checkpoint",
          "biowarp convert esm2_t33_650M_UR50D.pt esm2_650M --to hf\n"
          "biowarp convert 650M esm2_650M_nv --to nv_esm --dtype bf16\n"
          "biowarp convert 650M merged --adapter my_lora",
          declare};
}
