#include "models/lora.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/fail.h"
#include "io/convert.h"

namespace biowarp {
namespace {

namespace fs = std::filesystem;

bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

// ---- names ----

enum class Role : std::uint8_t { whole, down, up };  // a parameter as it is, LoRA's A, LoRA's B

struct AdapterName {
  std::string module;  // dotted name of the adapted module, or of a whole parameter
  Role role = Role::whole;
  bool embedding = false;  // A and B are transposed
};

struct Marker {
  std::string_view text;
  Role role;
  bool embedding;
};
constexpr std::array<Marker, 4> kMarkers{{{".lora_A", Role::down, false},
                                          {".lora_B", Role::up, false},
                                          {".lora_embedding_A", Role::down, true},
                                          {".lora_embedding_B", Role::up, true}}};
// Wrappers that peft leaves in the names of parameters it saves whole.
constexpr std::string_view kWrappers[] = {".base_layer", ".modules_to_save.default", ".modules_to_save"};

// ".weight", ".default.weight", "" ... what may stand behind a marker.
bool is_tail(std::string_view tail) {
  return tail.empty() || tail == ".default" || tail == ".weight" || tail == ".default.weight";
}

AdapterName parse_name(const std::string& stored) {
  for (const Marker& marker : kMarkers) {
    const std::size_t at = stored.find(marker.text);
    if (at == std::string::npos || !is_tail(std::string_view(stored).substr(at + marker.text.size()))) continue;
    return {stored.substr(0, at), marker.role, marker.embedding};
  }
  std::string name = stored;
  for (const std::string_view wrapper : kWrappers) {
    if (const std::size_t at = name.find(wrapper); at != std::string::npos) name.erase(at, wrapper.size());
  }
  return {name, Role::whole, false};
}

// Adapters speak the naming of the model they were trained on, which need not be that of the base file.
Resolved resolve_any(const std::string& name) {
  for (const Naming naming : {Naming::hf, Naming::nv_esm, Naming::fair_esm, Naming::esme}) {
    const Resolved resolved = resolve(table_of(naming), name);
    if (resolved.use != Use::unknown) return resolved;
  }
  return {};
}

// ---- matrices ----

// Values of a matrix [rows, columns], transposed on demand.
std::vector<float> values_of(const TensorInfo& tensor, bool transposed, float scale) {
  const StoredMatrix matrix = as_matrix(tensor, false);
  std::vector<float> values(static_cast<std::size_t>(matrix.rows * matrix.columns)), result(values.size());
  matrix.read(0, matrix.rows, values.data());
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t column = 0; column < matrix.columns; ++column) {
      const std::int64_t from = row * matrix.columns + column, to = transposed ? column * matrix.rows + row : from;
      result[static_cast<std::size_t>(to)] = scale * values[static_cast<std::size_t>(from)];
    }
  }
  return result;
}

// Whether `module` is `pattern` or ends in it at a dot, as peft matches its plain patterns.
bool matches_pattern(const std::string& module, const std::string& pattern, const std::string& path) {
  if (pattern.find_first_of("*^$|()[]{}\\+?") != std::string::npos) {
    fail_input("{}: alpha_pattern \"{}\" is a regular expression; biowarp takes plain module names", path, pattern);
  }
  return module == pattern || ends_with(module, "." + pattern);
}

float scale_of(const LoraConfig& config, const std::string& module, std::int64_t rank) {
  double alpha = config.alpha;
  for (const auto& [pattern, value] : config.alpha_pattern) {
    if (matches_pattern(module, pattern, config.path)) alpha = value;
  }
  const auto r = static_cast<double>(rank);
  return static_cast<float>(config.rslora ? alpha / std::sqrt(r) : alpha / r);
}

struct Pair {
  std::string module;
  const TensorInfo* down = nullptr;  // A [r, in], of an embedding [r, V]
  const TensorInfo* up = nullptr;    // B [out, r], of an embedding [C, r]
  bool embedding = false;
};

bool is_matrix(const TensorInfo* tensor) {
  return tensor && tensor->shape.size() == 2 && is_floating(tensor->dtype) && tensor->elements() > 0;
}

class Merger {
 public:
  Merger(const Adapter& adapter, const Esm2Config& config, Placement& placement)
      : adapter_(adapter), config_(config), placement_(placement) {}

  UpdateMap run(std::vector<std::string>& notes) {
    for (const TensorInfo& tensor : adapter_.weights.tensors) sort(tensor);
    for (const auto& [place, pair] : pairs_) add_update(place, pair);
    if (!faults_.empty()) {
      fail_input("{}: the adapter does not fit an ESM-2 of {} layers and width {}:\n    {}", adapter_.path,
                 config_.layers, config_.hidden, fmt::join(faults_, "\n    "));
    }
    for (const auto& [place, tensor] : whole_) {
      if (place.first == "embed.weight") untie();
      placement_.params[place.first][place.second] = tensor;
    }
    notes.push_back(fmt::format("adapter {} merged: {} matrices changed, {} parameters replaced", adapter_.path,
                                updates_.size(), whole_.size()));
    if (!heads_.empty()) notes.push_back(fmt::format("task head of the adapter ignored: {}", fmt::join(heads_, ", ")));
    return std::move(updates_);
  }

 private:
  void sort(const TensorInfo& tensor) {
    const AdapterName name = parse_name(tensor.name);
    const bool whole = name.role == Role::whole;
    const Resolved resolved = resolve_any(whole ? name.module : name.module + ".weight");
    switch (resolved.use) {
      case Use::ignored:
      case Use::rotary: return;
      case Use::classifier: heads_.push_back(tensor.name); return;
      case Use::unknown: faults_.push_back(tensor.name + ": ESM-2 has no such module"); return;
      case Use::parameter: break;
    }
    const UpdatePlace place{resolved.parameter, resolved.part};
    if (whole) {
      whole_[place] = &tensor;
      return;
    }
    Pair& pair = pairs_[place];
    pair.module = name.module;
    pair.embedding = name.embedding;
    (name.role == Role::down ? pair.down : pair.up) = &tensor;
  }

  // A tied decoder keeps the values that the embedding had before the adapter, as in peft.
  void untie() {
    if (!config_.has_lm_head || placement_.find("lm_head.decoder.weight")) return;
    placement_.params["lm_head.decoder.weight"][Part::whole] = placement_.find("embed.weight");
  }

  void add_update(const UpdatePlace& place, const Pair& pair) {
    if (!is_matrix(pair.down) || !is_matrix(pair.up)) {
      faults_.push_back(pair.module + ": needs two matrices, lora_A and lora_B");
      return;
    }
    if (place.first == "embed.weight" || place.first == "lm_head.decoder.weight") untie();
    const auto param = placement_.params.find(place.first);
    if (param == placement_.params.end() || param->second.count(place.second) == 0) {
      faults_.push_back(pair.module + ": the model does not hold this matrix on its own");
      return;
    }
    const TensorInfo& base = *param->second.at(place.second);
    const std::int64_t rank = pair.down->shape[0];
    const std::int64_t out = pair.embedding ? pair.down->shape[1] : pair.up->shape[0];
    const std::int64_t in = pair.embedding ? pair.up->shape[0] : pair.down->shape[1];
    if (base.shape != std::vector<std::int64_t>{out, in} || pair.up->shape[1] != rank) {
      faults_.push_back(fmt::format("{}: A {} and B {} do not make {}", pair.module, describe_shape(pair.down->shape),
                                    describe_shape(pair.up->shape), describe_shape(base.shape)));
      return;
    }
    const float scale = scale_of(adapter_.config, pair.module, rank);
    auto update = std::make_shared<LowRankUpdate>();
    update->rank = rank;
    update->left = values_of(pair.embedding ? *pair.down : *pair.up, pair.embedding, scale);
    update->right = values_of(pair.embedding ? *pair.up : *pair.down, pair.embedding, 1.0f);
    updates_[place] = std::move(update);
  }

  const Adapter& adapter_;
  const Esm2Config& config_;
  Placement& placement_;
  std::map<UpdatePlace, Pair> pairs_;
  std::map<UpdatePlace, const TensorInfo*> whole_;
  std::vector<std::string> heads_, faults_;
  UpdateMap updates_;
};

void check_kind(const LoraConfig& config) {
  if (config.peft_type != "LORA") {
    fail_input("{}: peft_type is \"{}\"; biowarp merges LORA adapters only", config.path, config.peft_type);
  }
  if (!config.extension.empty()) {
    fail_input("{}: {} is set, which biowarp does not merge; merge it with peft's merge_and_unload", config.path,
               config.extension);
  }
  for (const char* changed : {"pissa", "olora", "corda", "loftq", "lora_ga"}) {
    if (config.init.rfind(changed, 0) != 0) continue;
    fail_input("{}: init_lora_weights \"{}\" changes the base weights too; merge it with peft's merge_and_unload",
               config.path, config.init);
  }
  if (!std::isfinite(config.alpha) || config.alpha == 0) fail_input("{}: no lora_alpha", config.path);
}

}  // namespace

Adapter open_adapter(const std::string& path) {
  const fs::path folder = fs::is_directory(path) ? fs::path(path) : fs::path(path).parent_path();
  if (!fs::exists(folder / "adapter_config.json")) fail_input("{}: no adapter: there is no adapter_config.json", path);
  Adapter adapter{folder.string(), read_lora_config((folder / "adapter_config.json").string()), {}};
  check_kind(adapter.config);
  for (const char* name : {"adapter_model.safetensors", "adapter_model.bin"}) {
    if (!fs::exists(folder / name)) continue;
    adapter.weights = open_weight_file((folder / name).string());
    return adapter;
  }
  fail_input("{}: neither adapter_model.safetensors nor adapter_model.bin", folder.string());
}

UpdateMap apply_adapter(const Adapter& adapter, const Esm2Config& config, Placement& placement,
                        std::vector<std::string>& notes) {
  return Merger(adapter, config, placement).run(notes);
}

}  // namespace biowarp
