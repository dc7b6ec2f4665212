// Two hashes with two jobs.
//   ContentHash  XXH3-128: identity of models, sequences and settings (fast, not cryptographic)
//   Sha256       verification of downloads
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

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void add(const void* data, std::size_t bytes);
  // 64 lower-case digits; ends the stream.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace biowarp
