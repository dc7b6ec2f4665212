// The Hugging Face cache on disk: where it is, and which snapshot of a model it holds. Nothing here uses a
// network.
//
// Layout (huggingface_hub, "Understand caching"):
//   <cache>/models--owner--name/blobs/<etag>                 contents, named by hash
//                              /refs/<branch or tag>         commit a name points to, 40 hex digits
//                              /snapshots/<commit>/<file>    relative links into blobs/
// <cache> is $HF_HUB_CACHE, or $HF_HOME/hub, or $XDG_CACHE_HOME/huggingface/hub, or ~/.cache/huggingface/hub.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace biowarp {

// The cache folder that the environment names; it need not exist.
std::string hub_cache_folder();

// $HF_HOME or what stands for it: the folder that holds hub/ and the token file.
std::string hub_home_folder();

// "owner/name" or "name" of letters, digits, '.', '_' and '-', as the hub allows.
bool is_hub_repo(std::string_view repo);

// A revision that may become a path below refs/: not empty, no empty, "." or ".." part.
bool is_hub_revision(std::string_view revision);

// <cache>/models--owner--name
std::string hub_repo_folder(const std::string& cache, const std::string& repo);

// Folder of the snapshot of `revision` (branch, tag or commit; empty: main), if the cache has it.
std::optional<std::string> find_in_hub_cache(const std::string& repo, const std::string& revision);

// Where find_in_hub_cache looks and what is there instead, as one clause of an error message.
std::string describe_cache_search(const std::string& repo);

}  // namespace biowarp
