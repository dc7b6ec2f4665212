#include "models/open_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/fail.h"
#include "models/bind.h"
#include "models/checkpoint.h"
#include "models/locate_model.h"
#include "models/lora.h"
#include "models/settings.h"

namespace biowarp {
namespace {

OpenedModel open_random(const ModelLocation& location) {
  OpenedModel model;
  model.config = location.random_config;
  model.params = random_params(model.config, location.random_seed);
  model.name = location.name;
  model.format = "random";
  model.notes.emplace_back("random weights: results mean nothing, only times do");
  return model;
}

Naming naming_of(const WeightFile& file) {
  if (const auto naming = recognise_naming(file.tensors)) return *naming;
  constexpr std::size_t kShown = 5;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kShown, file.tensors.size()); ++i) names.push_back(file.tensors[i].name);
  fail_input(
      "{}: no ESM-2 in it: none of the names of transformers, NVIDIA, fair-esm or ESME; it has {} "
      "tensors{}{}",
      file.path, file.tensors.size(), names.empty() ? "" : ", first ", fmt::join(names, ", "));
}

// A contact head whose values are not finite was never trained: exported checkpoints carry such (S43).
bool finite(const StoredParam& param) {
  std::vector<float> values(static_cast<std::size_t>(param.rows));
  param.parts[0].read(0, param.rows, values.data());
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

void note_heads(OpenedModel& model, const Placement& placement) {
  if (!model.config.has_lm_head) {
    model.notes.emplace_back(
        "no language-model head in this checkpoint: embeddings and contacts only, no logits, scores or "
        "perplexity");
  }
  if (!model.config.has_contact_head) {
    model.notes.emplace_back("no contact head in this checkpoint: no contacts");
  }
  if (!placement.classifier.empty()) {
    model.notes.push_back(fmt::format("task head ignored: {}", fmt::join(placement.classifier, ", ")));
  }
}

// Settings that change results, for the hash.
std::string identity_of(const Esm2Config& config) {
  return fmt::format("esm2 {} {} {} {} {} eps {} dropout {} gelu {} rotary {}", config.layers, config.hidden,
                     config.heads, config.feed_forward, config.vocabulary, config.layer_norm_eps, config.token_dropout,
                     config.tanh_gelu, fmt::join(config.inv_freq, " "));
}

// The naming's own format, or "state_dict" when only the shapes tell what the model is.
std::string format_of(const Checkpoint& checkpoint, Naming naming) {
  const auto settings = checkpoint.weights.metadata.lower_bound("cfg.");
  const bool fair = settings != checkpoint.weights.metadata.end() && settings->first.rfind("cfg.", 0) == 0;
  const bool described = checkpoint.config || fair || naming == Naming::esme;
  return described ? std::string(table_of(naming).title) : "state_dict";
}

// Opens `files`, merged with the adapter of `options`.
OpenedModel open_files(const ModelLocation& location, const CheckpointFiles& files, const OpenModelOptions& options) {
  const Checkpoint checkpoint = open_checkpoint(files);
  refuse_other_architectures(checkpoint);
  const Naming naming = naming_of(checkpoint.weights);
  Placement placement = place_tensors(checkpoint, naming);

  OpenedModel model;
  model.name = location.name;
  model.path = location.path;
  model.format = format_of(checkpoint, naming);
  model.demonstration = location.demonstration;
  model.config = derive_config(checkpoint, naming, placement, files.weights, model.notes);
  model.config.tanh_gelu = options.tanh_gelu;

  BindOptions bind;
  bind.interleaved_qkv = !checkpoint.config || checkpoint.config->qkv_weight_interleaved.value_or(true);
  std::vector<MappedFile> maps = checkpoint.weights.maps;
  std::optional<Adapter> adapter;
  if (!options.adapter.empty()) {
    adapter = open_adapter(options.adapter);
    bind.updates = apply_adapter(*adapter, model.config, placement, model.notes);
    maps.insert(maps.end(), adapter->weights.maps.begin(), adapter->weights.maps.end());
  }
  auto params = bind_params(checkpoint, naming, placement, model.config, bind);
  if (model.config.has_contact_head && !(finite(params.at("contact.weight")) && finite(params.at("contact.bias")))) {
    model.config.has_contact_head = false;
    params.erase("contact.weight");
    params.erase("contact.bias");
    model.notes.emplace_back("the contact head holds values that are not finite: it is not used");
  }
  note_heads(model, placement);
  model.params = std::make_shared<StoredParams>(std::move(params), model.config.head_width(), std::move(maps),
                                                identity_of(model.config));
  return model;
}

// A folder that holds only an adapter stands for its base model with the adapter merged.
OpenedModel open_adapted(const ModelLocation& location, const CheckpointFiles& files, OpenModelOptions options) {
  if (!options.adapter.empty()) {
    fail_input("{}: it is an adapter itself; biowarp merges one adapter, {} would be a second", location.path,
               options.adapter);
  }
  options.adapter = files.adapter;
  const LoraConfig config = read_lora_config(files.adapter + "/adapter_config.json");
  if (config.base_model.empty()) {
    fail_input("{}: no base_model_name_or_path; name the base model and give this folder as its adapter", config.path);
  }
  const std::filesystem::path beside = std::filesystem::path(files.adapter) / config.base_model;
  ModelLocation base;
  try {
    base = locate_model(std::filesystem::exists(beside) ? beside.string() : config.base_model, "");
  } catch (const Error& error) {
    fail(error.kind(), "{}: an adapter for {}: {}", location.path, config.base_model, error.what());
  }
  if (base.path.empty()) fail_input("{}: random weights cannot be the base of an adapter", config.path);
  const CheckpointFiles base_files = find_checkpoint_files(base.path);
  if (base_files.weights.empty()) fail_input("{}: its base {} is an adapter too", config.path, base.path);
  OpenedModel model = open_files(base, base_files, options);
  model.name = location.name;
  model.path = location.path;
  model.demonstration = false;
  return model;
}

OpenedModel open_located(const ModelLocation& location, const OpenModelOptions& options) {
  const CheckpointFiles files = find_checkpoint_files(location.path);
  if (files.weights.empty()) return open_adapted(location, files, options);
  if (!files.adapter.empty() && options.adapter.empty()) {
    fail_input(
        "{}: it holds both a model and an adapter; name the folder again as the adapter to merge it, or the "
        "weight file to leave it out",
        location.path);
  }
  return open_files(location, files, options);
}

}  // namespace

OpenedModel open_model(const OpenModelOptions& options) {
  const ModelLocation location = locate_model(options.name, options.revision);
  if (location.path.empty()) {
    if (!options.adapter.empty()) fail_usage("random weights take no adapter");
    return open_random(location);
  }
  return open_located(location, options);
}

}  // namespace biowarp
