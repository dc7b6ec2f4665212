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

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1) {
    fail(ErrorKind::internal, "OpenSSL offers no SHA-256");
  }
}
Sha256::~Sha256() = default;

void Sha256::add(const void* data, std::size_t bytes) { EVP_DigestUpdate(state_->context, data, bytes); }

std::string Sha256::finish() {
  std::array<unsigned char, 32> digest{};
  EVP_DigestFinal_ex(state_->context, digest.data(), nullptr);
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace biowarp
