// pull(): the protocol of huggingface.co as huggingface_hub speaks it.
//
//   GET  /api/models/<repo>/revision/<revision>   JSON: "sha" (commit), "siblings" [{"rfilename"}]
//   HEAD /<repo>/resolve/<commit>/<file>          X-Repo-Commit; X-Linked-Etag and X-Linked-Size (large files, which
//                                                 redirect to a store) or ETag and Content-Length
//   GET  /<repo>/resolve/<commit>/<file>          the bytes, with Range
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/environment.h"
#include "base/fail.h"
#include "biowarp/hub.h"
#include "io/file.h"
#include "io/header_text.h"
#include "io/http.h"
#include "io/hub_blob.h"
#include "io/hub_cache.h"
#include "io/hub_files.h"
#include "io/json.h"

namespace biowarp {
namespace {

namespace fs = std::filesystem;

// HF_TOKEN, its older name, or the file that `hf auth login` writes.
std::string token_of_environment() {
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (const std::string token = environment(name); !token.empty()) return std::string(trim(token));
  }
  const std::string path = environment("HF_TOKEN_PATH", (fs::path(hub_home_folder()) / "token").string());
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) ? std::string(trim(read_text(path))) : "";
}

std::string without_slash(std::string url) {
  while (!url.empty() && url.back() == '/') url.pop_back();
  return url;
}

PullOptions completed(PullOptions options) {
  if (!is_hub_repo(options.repo)) fail_usage("expected a name like 'owner/name', got '{}'", options.repo);
  if (options.revision.empty()) options.revision = "main";
  if (!is_hub_revision(options.revision)) {
    fail_usage("expected a branch, tag or commit as revision, got '{}'", options.revision);
  }
  if (options.endpoint.empty()) options.endpoint = environment("HF_ENDPOINT", "https://huggingface.co");
  options.endpoint = without_slash(options.endpoint);
  if (options.token.empty()) options.token = token_of_environment();
  if (options.cache.empty()) options.cache = hub_cache_folder();
  return options;
}

bool is_commit(std::string_view text) {
  return text.size() == 40 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// `W/"abc"` and `"abc"` as `abc`.
std::string bare_etag(std::string_view etag) {
  if (etag.substr(0, 2) == "W/") etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return std::string(etag);
}

// -1 when it is no number.
std::int64_t number_in(const std::string& text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

class Pull {
 public:
  explicit Pull(PullOptions options)
      : options_(completed(std::move(options))),
        client_(options_.endpoint, options_.token),
        folder_(hub_repo_folder(options_.cache, options_.repo)) {}

  PullResult run() {
    if (const std::string offline = environment("HF_HUB_OFFLINE"); !offline.empty() && offline != "0") {
      fail_usage("HF_HUB_OFFLINE is set: unset it to download {}", options_.repo);
    }
    list_repository();
    const HubFiles chosen = choose_hub_files(names_, options_.repo);
    create_folders();
    add_files(chosen.files);
    if (!chosen.index.empty()) add_files(shards_named_in(chosen.index));
    check_space();
    for (const File& file : files_) fetch(file);
    point_revision();
    return std::move(result_);
  }

 private:
  struct File {
    std::string name;
    HubBlob blob;
  };

  void list_repository() {
    const std::string url =
        fmt::format("{}/api/models/{}/revision/{}", options_.endpoint, options_.repo, url_escape(options_.revision));
    const HttpResponse response = client_.get(url);
    if (!response.ok()) refuse(response);
    const nlohmann::json json = parse_json(response.body, url);
    const std::string commit =
        json.is_object() && json.contains("sha") && json["sha"].is_string() ? json["sha"].get<std::string>() : "";
    if (!is_commit(commit)) fail_input("expected {} to name a commit of 40 hex digits; is it a hub?", url);
    if (json.contains("siblings") && json["siblings"].is_array()) {
      for (const auto& sibling : json["siblings"]) {
        if (!sibling.is_object() || !sibling.contains("rfilename") || !sibling["rfilename"].is_string()) continue;
        names_.push_back(sibling["rfilename"].get<std::string>());
      }
    }
    result_.repo = options_.repo;
    result_.commit = commit;
    result_.snapshot = (folder_ / "snapshots" / commit).string();
  }

  void create_folders() {
    for (const fs::path& folder : {folder_ / "blobs", folder_ / "refs", fs::path(result_.snapshot)}) {
      std::error_code error;
      fs::create_directories(folder, error);
      if (error) fail_input("cannot create {}: {}", folder.string(), error.message());
    }
  }

  // Asks for size and hash of each file.
  void add_files(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      // A name becomes a path: no folders, nothing hidden.
      const bool plain = !name.empty() && name[0] != '.' && name.find('/') == std::string::npos;
      if (!plain) fail_input("{} holds a file '{}', whose name cannot be used", options_.repo, name);
      const bool known = std::any_of(files_.begin(), files_.end(), [&](const File& file) { return file.name == name; });
      if (known) continue;
      files_.push_back(inspect(name));
      total_ += files_.back().blob.size;
    }
  }

  File inspect(const std::string& name) {
    const std::string url =
        fmt::format("{}/{}/resolve/{}/{}", options_.endpoint, options_.repo, result_.commit, url_escape(name));
    const HttpResponse response = client_.head(url);
    const bool elsewhere = !response.header("redirect-url").empty();
    if (!response.failure.empty() || (!response.ok() && !elsewhere)) refuse(response);
    const std::string linked_etag = response.header("x-linked-etag"), linked_size = response.header("x-linked-size");
    const std::string commit = response.header("x-repo-commit");
    File file{name, {url, bare_etag(linked_etag.empty() ? response.header("etag") : linked_etag), -1}};
    file.blob.size = number_in(!linked_size.empty() || elsewhere ? linked_size : response.header("content-length"));
    if (!commit.empty() && commit != result_.commit) {
      fail_input("expected {} to be of commit {}, got {}", url, result_.commit, commit);
    }
    if (!is_blob_hash(file.blob.etag) || file.blob.size < 0) {
      fail_input("{} announces no hash or no size (ETag '{}', size '{}'), so that it cannot be verified; is it a hub?",
                 url, file.blob.etag, linked_size);
    }
    return file;
  }

  std::vector<std::string> shards_named_in(const std::string& index) {
    const auto file = std::find_if(files_.begin(), files_.end(), [&](const File& f) { return f.name == index; });
    download(*file);
    return shards_of(read_text(blob_path(*file)), index, names_);
  }

  void check_space() {
    std::error_code error;
    const fs::space_info space = fs::space(folder_ / "blobs", error);
    std::int64_t missing = 0;
    for (const File& file : files_) missing += fs::exists(blob_path(file)) ? 0 : file.blob.size;
    if (error || missing <= static_cast<std::int64_t>(space.available)) return;
    fail(ErrorKind::device, "{} needs {} MB more, but {} has only {} MB left; HF_HUB_CACHE names another place",
         options_.repo, missing / 1'000'000, folder_.string(), space.available / 1'000'000);
  }

  bool download(const File& file) {
    BlobTransfer transfer{options_.retry_delay, {}};
    if (options_.progress) {
      transfer.on_bytes = [&](std::int64_t here) { options_.progress({file.name, done_ + here, total_}); };
    }
    return fetch_blob(client_, file.blob, (folder_ / "blobs").string(), transfer);
  }

  void fetch(const File& file) {
    const bool downloaded = download(file);
    link(file);
    done_ += file.blob.size;
    if (options_.progress) options_.progress({file.name, done_, total_});
    result_.files.push_back({file.name, file.blob.size, downloaded});
  }

  // snapshots/<commit>/<file> -> ../../blobs/<etag>, replaced in one step.
  void link(const File& file) const {
    const fs::path place = fs::path(result_.snapshot) / file.name, fresh = place.string() + ".partial";
    std::error_code error;
    fs::remove(fresh, error);
    fs::create_symlink(fs::path("../../blobs") / file.blob.etag, fresh, error);
    if (!error) fs::rename(fresh, place, error);
    if (error) fail_input("cannot create the link {}: {}", place.string(), error.message());
  }

  void point_revision() const {
    if (options_.revision == result_.commit) return;
    const fs::path ref = folder_ / "refs" / options_.revision;
    std::error_code error;
    fs::create_directories(ref.parent_path(), error);
    write_text(ref.string(), result_.commit);
  }

  std::string blob_path(const File& file) const { return (folder_ / "blobs" / file.blob.etag).string(); }

  // What a server's refusal means to a person.
  [[noreturn]] void refuse(const HttpResponse& response) const {
    const std::string code = response.header("x-error-code");
    const std::string with_token = options_.token.empty()
                                       ? "set HF_TOKEN to a token that may read it"
                                       : "the token in use (HF_TOKEN or the token file) may not read it";
    if (!response.failure.empty()) {
      fail_input(
          "cannot reach {}: {}. Check the network, or HF_ENDPOINT; a model folder copied from elsewhere can be given "
          "by "
          "its path",
          response.url, response.failure);
    }
    if (code == "GatedRepo" || response.status == 403) {
      fail_input("{} gives access to {} only to people who were admitted (status {}): accept its terms there, and {}",
                 options_.endpoint, options_.repo, response.status, with_token);
    }
    if (response.status == 401) {
      fail_input("{} has no public model {} (status 401): check the name; if it is private, {}", options_.endpoint,
                 options_.repo, with_token);
    }
    if (response.status == 404 && code == "RevisionNotFound") {
      fail_input("{} has no revision '{}' of {}", options_.endpoint, options_.revision, options_.repo);
    }
    if (response.status == 404) {
      fail_input("{} has no model {} with revision '{}' (status 404): check the spelling of both", options_.endpoint,
                 options_.repo, options_.revision);
    }
    fail_input("{} answers with status {}", response.url, response.status);
  }

  PullOptions options_;
  HttpClient client_;
  fs::path folder_;
  std::vector<std::string> names_;  // all files of the repository
  std::vector<File> files_;         // those of the model
  std::int64_t done_ = 0, total_ = 0;
  PullResult result_;
};

}  // namespace

PullResult pull(const PullOptions& options) { return Pull(options).run(); }

}  // namespace biowarp
