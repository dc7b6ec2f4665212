#include "io/hub_cache.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <vector>

#include "base/environment.h"
#include "base/fail.h"
#include "io/file.h"

namespace biowarp {
namespace {

namespace fs = std::filesystem;

// "~" and "~/x" as the shell reads them.
std::string expand_home(const std::string& path) {
  const bool home = path == "~" || path.rfind("~/", 0) == 0;
  return home ? environment("HOME") + path.substr(1) : path;
}

std::vector<std::string_view> split_path(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t slash; (slash = text.find('/')) != std::string_view::npos; text.remove_prefix(slash + 1)) {
    parts.push_back(text.substr(0, slash));
  }
  parts.push_back(text);
  return parts;
}

bool is_repo_part(std::string_view part) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; };
  return !part.empty() && part != "." && part != ".." && std::all_of(part.begin(), part.end(), allowed);
}

// First word of a small file; empty when there is none.
std::string commit_in(const fs::path& ref) {
  std::error_code ignored;
  if (!fs::is_regular_file(ref, ignored)) return "";
  const std::string text = read_text(ref.string());
  return text.substr(0, text.find_first_of(" \t\r\n"));
}

std::vector<std::string> names_below(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) names.push_back(fs::relative(it->path(), folder, error).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string hub_cache_folder() {
  // HUGGINGFACE_HUB_CACHE is the variable's name before huggingface_hub 0.20.
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const std::string cache = environment(name); !cache.empty()) return expand_home(cache);
  }
  return (fs::path(hub_home_folder()) / "hub").string();
}

std::string hub_home_folder() {
  if (const std::string home = environment("HF_HOME"); !home.empty()) return expand_home(home);
  const fs::path cache = expand_home(environment("XDG_CACHE_HOME", "~/.cache"));
  return (cache / "huggingface").string();
}

bool is_hub_repo(std::string_view repo) {
  const auto parts = split_path(repo);
  return parts.size() <= 2 && std::all_of(parts.begin(), parts.end(), is_repo_part);
}

bool is_hub_revision(std::string_view revision) {
  const auto parts = split_path(revision);
  return std::all_of(parts.begin(), parts.end(),
                     [](std::string_view part) { return !part.empty() && part != "." && part != ".."; });
}

std::string hub_repo_folder(const std::string& cache, const std::string& repo) {
  std::string name = "models";
  for (const std::string_view part : split_path(repo)) name.append("--").append(part);
  return (fs::path(cache) / name).string();
}

std::optional<std::string> find_in_hub_cache(const std::string& repo, const std::string& revision) {
  const std::string wanted = revision.empty() ? "main" : revision;
  if (!is_hub_repo(repo) || !is_hub_revision(wanted)) return std::nullopt;
  const fs::path folder = hub_repo_folder(hub_cache_folder(), repo);
  const std::string from_ref = commit_in(folder / "refs" / wanted);
  const std::string commit = from_ref.empty() ? wanted : from_ref;
  const fs::path snapshot = folder / "snapshots" / commit;
  std::error_code ignored;
  if (!is_repo_part(commit) || !fs::is_directory(snapshot, ignored)) return std::nullopt;
  return snapshot.string();
}

std::string describe_cache_search(const std::string& repo) {
  const std::string cache = hub_cache_folder();
  if (!is_hub_repo(repo)) return fmt::format("'{}' is not a name that the Hugging Face cache can hold", repo);
  const fs::path folder = hub_repo_folder(cache, repo);
  std::error_code ignored;
  if (!fs::is_directory(cache, ignored)) return fmt::format("the Hugging Face cache {} does not exist", cache);
  if (!fs::is_directory(folder, ignored)) return fmt::format("the Hugging Face cache {} does not hold it", cache);
  const auto refs = names_below(folder / "refs");
  if (refs.empty()) return fmt::format("the Hugging Face cache holds no revision of it in {}", folder.string());
  return fmt::format("the Hugging Face cache holds these revisions of it in {}: {}", folder.string(),
                     fmt::join(refs, ", "));
}

}  // namespace biowarp
