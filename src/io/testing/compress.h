// Compressed texts for tests.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <stdexcept>
#include <string>

namespace biowarp {

// One gzip member.
inline std::string gzip(const std::string& text) {
  z_stream state{};
  constexpr int kGzip = 16 + MAX_WBITS;
  if (deflateInit2(&state, 6, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::runtime_error("deflate");
  std::string packed(deflateBound(&state, text.size()), '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  state.avail_in = static_cast<uInt>(text.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&state, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  packed.resize(state.total_out);
  deflateEnd(&state);
  return packed;
}

// One zstd frame.
inline std::string zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

}  // namespace biowarp
