// `biowarp info [MODEL]`: what a model is, without running it.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "biowarp/checkpoint.h"
#include "command.h"
#include "json.h"

namespace {

using biowarp::CheckpointInfo;
using biowarp::ModelInfo;

struct Flags {
  biowarp::ModelOptions model;
  bool json = false, tensors = false;
};

// "1.23 GiB", "45.6 MiB"
std::string size_text(std::int64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib >= 1024 ? fmt::format("{:.2f} GiB", mib / 1024) : fmt::format("{:.1f} MiB", mib);
}

// "7,512,353"
std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::int64_t elements(const biowarp::ParameterInfo& parameter) {
  std::int64_t product = 1;
  for (const std::int64_t size : parameter.shape) product *= size;
  return product;
}

// Stored types and the number of values in each: "f16" or "f32 (1,234 values), bf16 (56 values)".
std::string types_text(const CheckpointInfo& info) {
  std::map<std::string, std::int64_t> types;
  for (const auto& parameter : info.parameters) types[std::string(name_of(parameter.stored))] += elements(parameter);
  std::string text;
  for (const auto& [name, count] : types) {
    text += text.empty() ? "" : ", ";
    text += types.size() == 1 ? name : fmt::format("{} ({} values)", name, grouped(count));
  }
  return text;
}

void print_text(const CheckpointInfo& info, bool tensors) {
  const ModelInfo& model = info.model;
  const auto row = [](const char* name, const std::string& value) { fmt::print("{:<14} {}\n", name, value); };
  row("model", model.name);
  if (!model.path.empty()) row("path", model.path);
  row("format", model.format);
  row("architecture",
      fmt::format("ESM-2: {} layers, width {}, {} heads of {}, feed-forward {}, {} tokens", model.layers, model.hidden,
                  model.heads, model.hidden / model.heads, model.feed_forward, model.vocabulary));
  row("parameters", grouped(model.parameters));
  row("tensors", std::to_string(info.parameters.size()));
  row("stored as", types_text(info));
  row("heads",
      fmt::format("language model: {}, contacts: {}", model.lm_head ? "yes" : "no", model.contact_head ? "yes" : "no"));
  row("settings", fmt::format("layer norm eps {}, token dropout {}, rotary frequencies {}", info.layer_norm_eps,
                              info.token_dropout ? "on" : "off", info.stored_rotary ? "of the file" : "computed"));
  std::string memory;
  for (const auto& [precision, bytes] : info.memory) {
    memory += fmt::format("{}{} {}", memory.empty() ? "about " : ", ", name_of(precision), size_text(bytes));
  }
  row("memory", memory);
  row("hash", model.hash);
  for (const std::string& note : model.notes) row("note", note);
  if (!tensors) return;
  fmt::print("\n");
  for (const auto& parameter : info.parameters) {
    fmt::print("{:<28} {:<5} [{}]\n", parameter.name, name_of(parameter.stored), fmt::join(parameter.shape, ", "));
  }
}

void print_json(const CheckpointInfo& info) {
  const ModelInfo& model = info.model;
  JsonObject out;
  out.add("name", model.name).add("path", model.path).add("format", model.format).add("hash", model.hash);
  out.add("layers", model.layers).add("hidden", model.hidden).add("heads", model.heads);
  out.add("feed_forward", model.feed_forward).add("vocabulary", model.vocabulary);
  out.add("parameters", model.parameters).add("lm_head", model.lm_head).add("contact_head", model.contact_head);
  out.add("layer_norm_eps", info.layer_norm_eps).add("token_dropout", info.token_dropout);
  out.add("stored_rotary", info.stored_rotary).add("demonstration", model.demonstration);
  JsonObject memory;
  for (const auto& [precision, bytes] : info.memory) memory.add(name_of(precision), bytes);
  out.add("memory_bytes", memory);
  std::vector<JsonObject> tensors, notes;
  for (const auto& parameter : info.parameters) {
    tensors.push_back(JsonObject()
                          .add("name", parameter.name)
                          .add("dtype", name_of(parameter.stored))
                          .add("elements", elements(parameter))
                          .add("shape", fmt::format("{}", fmt::join(parameter.shape, "x"))));
  }
  for (const std::string& note : model.notes) notes.push_back(JsonObject().add("text", note));
  out.add("tensors", tensors).add("notes", notes);
  fmt::print("{}\n", out.text());
}

int run(const Flags& flags) {
  const CheckpointInfo info = biowarp::inspect_checkpoint(flags.model);
  flags.json ? print_json(info) : print_text(info, flags.tensors);
  return 0;
}

std::function<int()> declare(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  app.add_option("MODEL", flags->model.name,
                 "name on the hub, short name (8M, 650M, t33), folder, file or random:SIZE; without one the "
                 "demonstration model");
  app.add_option("--revision", flags->model.revision, "revision on the hub (main)")->type_name("NAME");
  app.add_option("--adapter", flags->model.adapter, "PEFT LoRA folder to merge")->type_name("DIR");
  app.add_flag("--tensors", flags->tensors, "list every parameter with its type and shape");
  app.add_flag("--json", flags->json, "one JSON object, tensors included");
  return [flags] { return run(*flags); };
}

}  // namespace

Command info_command() {
  return {"info", "show architecture, size, type, hash and memory of a model",
          "biowarp info 650M\n"
          "biowarp info my_finetuned_folder --tensors\n"
          "biowarp info model.safetensors --json",
          declare};
}
