// AMX tiles as the kernels here use them: every tile 16 rows of 64 bytes.
//   0..3  f32 or i32 results   4, 5  left operands (rows of x)   6, 7  right operands (rows of 2 or 4 inputs, 16
//   columns)
// Tile state belongs to the thread and to whoever configured it last: a TileScope configures it and gives it back.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

namespace biowarp {

#pragma GCC push_options
#pragma GCC target("amx-tile")

class TileScope {
 public:
  TileScope() {
    struct alignas(64) Config {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    static constexpr Config config;
    _tile_loadconfig(&config);
  }
  ~TileScope() { _tile_release(); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

#pragma GCC pop_options

}  // namespace biowarp
#endif
