// One file of a hub, downloaded into blobs/ of the cache and verified.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/http.h"

namespace biowarp {

struct HubBlob {
  std::string url;
  std::string etag;       // 64 hex digits: SHA-256 of the content; 40: git's SHA-1 of "blob <size>\0" and the content
  std::int64_t size = 0;  // bytes
};

struct BlobTransfer {
  double retry_delay = 1;                           // seconds; doubles each time nothing came
  std::function<void(std::int64_t here)> on_bytes;  // bytes of this blob that are here
};

// <folder>/<etag>, which is whole and verified. It grows as <folder>/<etag>.incomplete, from where a later call goes
// on. True when something was downloaded. Throws Error(input) when size or hash are not as announced, the server
// refuses, or the connection is lost for good.
bool fetch_blob(const HttpClient& client, const HubBlob& blob, const std::string& folder, const BlobTransfer& transfer);

// The announced hash must be one of the two kinds above.
bool is_blob_hash(const std::string& etag);

}  // namespace biowarp
