// Hashes and their jobs.
//   ContentHash   XXH3-128: identity of models, sequences and settings (fast, not cryptographic)
//   Sha256, Sha1  verification of downloads (Sha1 only where a server offers nothing better, as git does)
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace biowarp {

// Streaming; hex() may be called at any time and gives 32 lower-case digits.
class ContentHash {
 public:
  ContentHash();
  ~ContentHash();
  ContentHash(const ContentHash&) = delete;
  ContentHash& operator=(const ContentHash&) = delete;
  ContentHash& add(const void* data, std::size_t bytes);
  // Length first, so that ("ab","c") and ("a","bc") differ.
  ContentHash& add_text(std::string_view text);
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string content_hash(const void* data, std::size_t bytes);

// A streaming digest of OpenSSL's.
class Digest {
 public:
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  void add(const void* data, std::size_t bytes);
  void add(std::string_view text) { add(text.data(), text.size()); }
  // Lower-case hex digits; ends the stream.
  std::string finish();

 protected:
  explicit Digest(const char* algorithm);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class Sha256 : public Digest {
 public:
  Sha256() : Digest("SHA256") {}  // 64 digits
};

class Sha1 : public Digest {
 public:
  Sha1() : Digest("SHA1") {}  // 40 digits
};

}  // namespace biowarp
