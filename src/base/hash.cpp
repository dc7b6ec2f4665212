#include "base/hash.h"

#include <openssl/evp.h>
#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // same hashes with AVX2 or AVX-512: four times as fast
#endif

#include <array>
#include <cstdint>

#include "base/fail.h"

namespace biowarp {

struct ContentHash::State {
  XXH3_state_t* xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
};

namespace {
std::string hex_of(XXH128_hash_t value) { return fmt::format("{:016x}{:016x}", value.high64, value.low64); }
}  // namespace

ContentHash::ContentHash() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->xxh); }
ContentHash::~ContentHash() = default;

ContentHash& ContentHash::add(const void* data, std::size_t bytes) {
  XXH3_128bits_update(state_->xxh, data, bytes);
  return *this;
}

ContentHash& ContentHash::add_text(std::string_view text) {
  const std::uint64_t length = text.size();
  return add(&length, sizeof length).add(text.data(), text.size());
}

std::string ContentHash::hex() const { return hex_of(XXH3_128bits_digest(state_->xxh)); }

std::string content_hash(const void* data, std::size_t bytes) { return hex_of(XXH3_128bits(data, bytes)); }

struct Digest::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Digest::Digest(const char* algorithm) : state_(std::make_unique<State>()) {
  const EVP_MD* method = EVP_get_digestbyname(algorithm);
  if (!method || EVP_DigestInit_ex(state_->context, method, nullptr) != 1) {
    fail(ErrorKind::internal, "OpenSSL offers no {}", algorithm);
  }
}
Digest::~Digest() = default;

void Digest::add(const void* data, std::size_t bytes) { EVP_DigestUpdate(state_->context, data, bytes); }

std::string Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(state_->context, digest.data(), &size);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace biowarp
