#include "models/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <vector>

#include "base/fail.h"

namespace biowarp {
namespace {

namespace fs = std::filesystem;

bool ends_with(const std::string& text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

constexpr std::string_view kIndexSuffix = ".index.json";
constexpr std::string_view kRegressionSuffix = "-contact-regression.pt";

// What a folder is searched for, best first.
constexpr const char* kUsualNames[] = {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                                       "pytorch_model.bin.index.json"};
// Files of trainers and adapters that hold no model.
constexpr const char* kOtherFiles[] = {"adapter_model.safetensors",
                                       "adapter_model.bin",
                                       "training_args.bin",
                                       "optimizer.pt",
                                       "optimizer.bin",
                                       "scheduler.pt",
                                       "scaler.pt",
                                       "rng_state.pth"};

using Suffixes = std::vector<std::string_view>;

std::vector<fs::path> files_with(const fs::path& folder, const Suffixes& suffixes) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool fits = std::any_of(suffixes.begin(), suffixes.end(), [&](auto s) { return ends_with(name, s); });
    const bool other = std::find(std::begin(kOtherFiles), std::end(kOtherFiles), name) != std::end(kOtherFiles);
    if (fits && !other && !ends_with(name, kRegressionSuffix)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string names_of(const std::vector<fs::path>& paths) {
  std::vector<std::string> names;
  for (const fs::path& path : paths) names.push_back(path.filename().string());
  return fmt::format("{}", fmt::join(names, ", "));
}

// The one weight file of a folder, or nothing.
fs::path weights_in(const fs::path& folder) {
  for (const char* name : kUsualNames) {
    if (fs::exists(folder / name)) return folder / name;
  }
  for (const Suffixes& suffixes : {Suffixes{".safetensors"}, Suffixes{".pt", ".pth", ".bin", ".ckpt"}}) {
    const std::vector<fs::path> found = files_with(folder, suffixes);
    if (found.size() == 1) return found[0];
    if (found.size() > 1) {
      fail_input("{}: several weight files ({}) and no index; name the one to open", folder.string(), names_of(found));
    }
  }
  return {};
}

[[noreturn]] void fail_no_weights(const fs::path& folder) {
  for (const char* foreign : {"tf_model.h5", "flax_model.msgpack"}) {
    if (fs::exists(folder / foreign)) {
      fail_input("{}: only {}, which biowarp does not read; load it with transformers and save it as safetensors",
                 folder.string(), foreign);
    }
  }
  fail_input("{}: no weights; looked for {}, and a single *.safetensors, *.pt, *.pth, *.bin or *.ckpt", folder.string(),
             fmt::join(kUsualNames, ", "));
}

}  // namespace

CheckpointFiles find_checkpoint_files(const std::string& path) {
  CheckpointFiles files;
  const bool is_folder = fs::is_directory(path);
  const fs::path folder = is_folder ? fs::path(path) : fs::path(path).parent_path();
  const std::string name = is_folder ? "" : fs::path(path).filename().string();
  const bool adapter_only = name == "adapter_model.safetensors" || name == "adapter_model.bin";

  const fs::path weights = is_folder ? weights_in(folder) : adapter_only ? fs::path() : fs::path(path);
  if ((is_folder || adapter_only) && fs::exists(folder / "adapter_config.json")) files.adapter = folder.string();
  if (weights.empty() && files.adapter.empty()) fail_no_weights(folder);
  if (weights.empty()) return files;

  files.weights = weights.string();
  if (fs::exists(folder / "config.json")) files.config = (folder / "config.json").string();
  const fs::path regression = folder / (weights.stem().string() + std::string(kRegressionSuffix));
  if (fs::exists(regression)) files.contact_regression = regression.string();
  return files;
}

Checkpoint open_checkpoint(const CheckpointFiles& files) {
  Checkpoint result;
  result.weights =
      ends_with(files.weights, kIndexSuffix) ? open_sharded_weights(files.weights) : open_weight_file(files.weights);
  if (!files.config.empty()) result.config = read_hf_config(files.config);
  if (files.contact_regression.empty()) return result;
  WeightFile contacts = open_weight_file(files.contact_regression);
  std::move(contacts.tensors.begin(), contacts.tensors.end(), std::back_inserter(result.weights.tensors));
  std::move(contacts.maps.begin(), contacts.maps.end(), std::back_inserter(result.weights.maps));
  return result;
}

}  // namespace biowarp
