// Models from a hub-compatible server into the Hugging Face cache, where every tool finds them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "biowarp/export.h"

namespace biowarp {

// Bytes that are in the cache, of all files of the model.
struct PullProgress {
  std::string file;  // the one in transfer
  std::int64_t done = 0;
  std::int64_t total = 0;
};

struct PullOptions {
  std::string repo;        // "owner/name"
  std::string revision;    // branch, tag or commit; empty: main
  std::string endpoint;    // empty: $HF_ENDPOINT, or https://huggingface.co
  std::string token;       // empty: $HF_TOKEN, or the file that `hf auth login` writes, or none
  std::string cache;       // empty: $HF_HUB_CACHE and its kin (docs/hub.md)
  double retry_delay = 1;  // seconds until a lost connection is tried again; doubles each time
  std::function<void(const PullProgress&)> progress;
};

struct PulledFile {
  std::string name;
  std::int64_t bytes = 0;
  bool downloaded = false;  // false: the cache had it already
};

struct PullResult {
  std::string repo;
  std::string commit;    // 40 hex digits
  std::string snapshot;  // folder with the files
  std::vector<PulledFile> files;
};

// Fetches configuration, vocabulary and weights of a model; what is there already is not fetched again, and what was
// cut off goes on where it ended. Each file is checked by size and hash before it gets its name; the revision points to
// the new commit once every file is there. The token is sent to the endpoint's own host only.
// Throws Error(usage) for a name or revision that cannot be one, Error(input) when the server refuses, cannot be
// reached or sends something else than it announced, Error(device) when the disk is too small.
BIOWARP_API PullResult pull(const PullOptions& options);

// "650M", "t33" and "esm2_t33_650M_UR50D" as "facebook/esm2_t33_650M_UR50D"; any other name as it is.
BIOWARP_API std::string hub_name(std::string_view name);

}  // namespace biowarp
