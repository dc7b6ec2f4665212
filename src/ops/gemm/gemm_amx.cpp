// bf16 and int8 products with AMX: 32 rows by 32 outputs at a time in four accumulator tiles, whole K in order.
//
// A step takes 64 bytes of a row: 32 bf16 or 64 int8 inputs. Weights are packed as [N/32][K/step][2][16][64 bytes]: for
// each strip of 32 outputs and each step two right-hand tiles of 16 outputs, whose rows hold 2 (bf16) or 4 (int8)
// neighbouring inputs of every output. Outputs are padded to 32 with zeros. bf16 sums start from the bias.
#include <algorithm>
#include <cstring>
#include <memory>

#include "base/cpu.h"
#include "base/fail.h"
#include "mem/slab.h"
#include "ops/gemm/gemm_rows.h"

#if defined(__x86_64__)
#include "ops/common/amx.h"

// Compiled for machines that have these instructions; refuse() keeps it from the others.
#pragma GCC push_options
#pragma GCC target("amx-tile,amx-bf16,amx-int8")

namespace biowarp {
namespace {

constexpr std::int64_t kStrip = 32;      // outputs
constexpr std::int64_t kStepBytes = 64;  // of a row of x, per step
constexpr std::int64_t kTileBytes = 1024;

template <bool kInt8>
__attribute__((always_inline)) inline void multiply_step(const char* x, std::int64_t x_stride, const char* w) {
  _tile_loadd(4, x, x_stride);
  _tile_loadd(6, w, 64);
  _tile_loadd(7, w + kTileBytes, 64);
  _tile_loadd(5, x + 16 * x_stride, x_stride);
  if constexpr (kInt8) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  } else {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

// y[32, 32] (rows y_stride bytes apart) = x[32, K] . strip; bias [32] or null for zero.
// `next` is the part of the following strip that this block brings into the cache: a quarter, so that a panel of four
// blocks has all of it.
template <bool kInt8>
void multiply_block(const char* x, std::int64_t x_stride, const char* strip, std::int64_t steps, const float* bias,
                    char* y, std::int64_t y_stride, const char* next) {
  if constexpr (kInt8) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {  // a stride of zero gives every row the same 16 values
    _tile_loadd(0, bias, 0);
    _tile_loadd(1, bias + 16, 0);
    _tile_loadd(2, bias, 0);
    _tile_loadd(3, bias + 16, 0);
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::int64_t line = 0; line < kTileBytes / 2; line += 64)
      __builtin_prefetch(next + step * kTileBytes / 2 + line, 0, 2);
    multiply_step<kInt8>(x + step * kStepBytes, x_stride, strip + step * 2 * kTileBytes);
  }
  _tile_stored(0, y, y_stride);
  _tile_stored(1, y + 64, y_stride);
  _tile_stored(2, y + 16 * y_stride, y_stride);
  _tile_stored(3, y + 16 * y_stride + 64, y_stride);
}

// y [rows, N] 4 bytes per element, rows a multiple of 32; bias padded to whole strips
template <bool kInt8>
void multiply_panel(const char* x, std::int64_t rows, std::int64_t steps, const char* packed, const float* bias,
                    std::int64_t N, char* y) {
  const TileScope tiles;
  const std::int64_t x_stride = steps * kStepBytes, y_stride = N * 4;
  alignas(64) char last[32 * kStrip * 4];
  for (std::int64_t n = 0; n < N; n += kStrip) {
    const std::int64_t strip_bytes = steps * 2 * kTileBytes;
    const char* strip = packed + n / kStrip * strip_bytes;
    const char* next = n + kStrip < N ? strip + strip_bytes : strip;
    const std::int64_t outputs = std::min(kStrip, N - n);
    for (std::int64_t m = 0; m < rows; m += 32) {
      char* to = y + m * y_stride + n * 4;
      const bool whole = outputs == kStrip;
      multiply_block<kInt8>(x + m * x_stride, x_stride, strip, steps, bias + n, whole ? to : last,
                            whole ? y_stride : kStrip * 4, next + m / 32 % 4 * strip_bytes / 4);
      if (whole) continue;
      for (std::int64_t i = 0; i < 32; ++i) {
        std::memcpy(to + i * y_stride, last + i * kStrip * 4, static_cast<std::size_t>(outputs * 4));
      }
    }
  }
}

}  // namespace
}  // namespace biowarp
#pragma GCC pop_options

namespace biowarp {
namespace {

class Amx : public GemmWeights {
 public:
  explicit Amx(const PlainWeights& plain) {
    const std::int64_t N = plain.desc.out, strips = (N + kStrip - 1) / kStrip;
    int8_ = plain.desc.precision == Precision::int8;
    steps_ = plain.desc.in * (int8_ ? 1 : 2) / kStepBytes;
    packed_ = SlabBlock(strips * steps_ * 2 * kTileBytes);
    std::memset(packed_.as<char>(), 0, static_cast<std::size_t>(packed_.bytes()));
    padded_bias_.resize(static_cast<std::size_t>(strips * kStrip), 0.0f);
    std::copy_n(plain.bias, N, padded_bias_.data());
    const char* w =
        int8_ ? reinterpret_cast<const char*>(plain.int8.data()) : reinterpret_cast<const char*>(plain.bf16.data());
    for (std::int64_t n = 0; n < N; ++n) pack_output(w + n * steps_ * kStepBytes, n);
  }

  std::int64_t bytes() const override { return packed_.bytes(); }

  void run(const void* x, std::int64_t rows, void* y) const override {
    const auto* from = static_cast<const char*>(x);
    auto* to = static_cast<char*>(y);
    if (int8_) {
      multiply_panel<true>(from, rows, steps_, packed_.as<char>(), padded_bias_.data(), desc_.out, to);
    } else {
      multiply_panel<false>(from, rows, steps_, packed_.as<char>(), padded_bias_.data(), desc_.out, to);
    }
  }

 private:
  // Spreads the inputs of output n over the rows of its tiles, 4 bytes at a time.
  void pack_output(const char* w, std::int64_t n) {
    char* strip = packed_.as<char>() + n / kStrip * steps_ * 2 * kTileBytes;
    char* column = strip + n % kStrip / 16 * kTileBytes + n % 16 * 4;
    for (std::int64_t step = 0; step < steps_; ++step) {
      for (std::int64_t row = 0; row < 16; ++row) {
        std::memcpy(column + step * 2 * kTileBytes + row * 64, w + step * kStepBytes + row * 4, 4);
      }
    }
  }

  bool int8_;
  std::int64_t steps_;
  SlabBlock packed_;                // [N/32][steps][2][16][64]
  std::vector<float> padded_bias_;  // [N rounded up to 32]
};

std::unique_ptr<GemmWeights> pack(const PlainWeights& plain) { return std::make_unique<Amx>(plain); }

}  // namespace
}  // namespace biowarp
#else
namespace biowarp {
namespace {
std::unique_ptr<GemmWeights> pack(const PlainWeights&) { return nullptr; }
}  // namespace
}  // namespace biowarp
#endif

namespace biowarp {
namespace {

std::string refuse(const GemmDesc& desc) {
  const CpuFeatures& cpu = cpu_features();
  switch (desc.precision) {
    case Precision::f32: return "bf16 and int8 only";
    case Precision::bf16:
      if (!cpu.amx_bf16) return "needs AMX-BF16";
      return desc.in % 32 == 0 ? "" : "inputs not a multiple of 32";
    case Precision::int8:
      if (!cpu.amx_int8) return "needs AMX-INT8";
      return desc.in % 64 == 0 ? "" : "inputs not a multiple of 64";
  }
  return "unknown precision";
}

}  // namespace

const GemmRow kGemmAmx{"amx", refuse, pack};

}  // namespace biowarp
