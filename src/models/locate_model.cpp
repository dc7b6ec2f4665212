#include "models/locate_model.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/environment.h"
#include "base/fail.h"
#include "io/hub_cache.h"

namespace biowarp {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDemonstration = "biowarp-esm2-8m";
constexpr std::string_view kRandom = "random:";

// Folder of the program or library that this code is in.
fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || !info.dli_fname) return {};
  std::error_code ignored;
  fs::path self = fs::weakly_canonical(info.dli_fname, ignored);
  // A program started through PATH may know itself by its bare name only.
  if (!fs::exists(self, ignored)) self = fs::read_symlink("/proc/self/exe", ignored);
  return self.parent_path();
}

// Folders that may hold the shipped models, best first.
std::vector<fs::path> model_folders() {
  std::vector<fs::path> folders;
  if (const std::string chosen = environment("BIOWARP_MODELS"); !chosen.empty()) folders.emplace_back(chosen);
  if (const fs::path own = own_folder(); !own.empty()) {
    folders.push_back(own / "../share/biowarp/models");     // bin/ or lib/ of an installation
    folders.push_back(own / "../../share/biowarp/models");  // lib/<triplet>/
    folders.push_back(own / "share/biowarp/models");        // inside a Python package
  }
  folders.emplace_back(BIOWARP_SOURCE_MODELS);
  return folders;
}

fs::path find_demonstration() {
  std::error_code ignored;
  for (const fs::path& folder : model_folders()) {
    if (fs::exists(folder / kDemonstration / "config.json", ignored)) {
      return fs::weakly_canonical(folder / kDemonstration, ignored);
    }
  }
  return {};
}

[[noreturn]] void fail_no_demonstration() {
  std::vector<std::string> folders;
  for (const fs::path& folder : model_folders()) folders.push_back(folder.lexically_normal().string());
  fail_usage(
      "no model was named and the demonstration model {} is not installed; looked in {}. Set BIOWARP_MODELS "
      "to "
      "the folder that holds it, or name a model",
      kDemonstration, fmt::join(folders, ", "));
}

// The short and long names people may type, for error messages.
std::string size_names() {
  std::vector<std::string> names;
  for (const Esm2Size& size : esm2_sizes()) names.emplace_back(size.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

ModelLocation random_model(const std::string& name) {
  const std::string rest = name.substr(kRandom.size());
  const std::size_t colon = rest.find(':');
  const auto size = find_esm2_size(rest.substr(0, colon));
  if (!size) fail_usage("{}: expected random:SIZE[:seed] with SIZE one of {}", name, size_names());
  ModelLocation location{name, "", false, config_of(*size), 0};
  if (colon == std::string::npos) return location;
  const std::string seed = rest.substr(colon + 1);
  const bool digits = !seed.empty() && seed.size() < 19 &&
                      std::all_of(seed.begin(), seed.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) fail_usage("{}: the seed must be a whole number, got \"{}\"", name, seed);
  location.random_seed = std::stoull(seed);
  return location;
}

// The hub's name of what a person typed: short names of the public sizes are Meta's.
std::string hub_repo_of(const std::string& name) {
  const auto size = find_esm2_size(name);
  if (!size || name.find('/') != std::string::npos) return name;
  return fmt::format("facebook/{}", size->full_name);
}

ModelLocation hub_model(const std::string& name, const std::string& revision) {
  const std::string repo = hub_repo_of(name);
  if (!is_hub_repo(repo)) {
    fail_usage(
        "no model \"{}\": no such file or folder. Give a folder or file, a name on the Hugging Face hub "
        "(owner/name), a public size ({}), or random:SIZE",
        name, size_names());
  }
  if (const auto folder = find_in_hub_cache(repo, revision)) return {repo, *folder, false, {}, 0};
  fail_usage("no model \"{}\": no such file or folder, and {}. Fetch it once with `biowarp pull {}{}`", name,
             describe_cache_search(repo), repo, revision.empty() ? "" : " --revision " + revision);
}

}  // namespace

ModelLocation locate_model(const std::string& name, const std::string& revision) {
  if (name.empty()) {
    const fs::path demonstration = find_demonstration();
    if (demonstration.empty()) fail_no_demonstration();
    return {kDemonstration, demonstration.string(), true, {}, 0};
  }
  if (name.rfind(kRandom, 0) == 0) return random_model(name);
  std::error_code ignored;
  if (fs::exists(name, ignored)) {
    const fs::path path = fs::path(name).lexically_normal();
    const fs::path last = path.has_filename() ? path.filename() : path.parent_path().filename();
    return {last.string(), name, false, {}, 0};
  }
  if (name == kDemonstration) {
    if (const fs::path demonstration = find_demonstration(); !demonstration.empty()) {
      return {name, demonstration.string(), false, {}, 0};
    }
  }
  return hub_model(name, revision);
}

}  // namespace biowarp
