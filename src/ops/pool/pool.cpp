#include "ops/pool/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace biowarp {
namespace {

// rows [count, C] -> out [C]
void mean_rows(const float* rows, std::int64_t count, std::int64_t width, float* out) {
  std::vector<double> sum(static_cast<std::size_t>(width), 0.0);
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t c = 0; c < width; ++c) sum[static_cast<std::size_t>(c)] += rows[r * width + c];
  }
  const double scale = count > 0 ? 1.0 / static_cast<double>(count) : 0.0;
  for (std::int64_t c = 0; c < width; ++c) out[c] = static_cast<float>(sum[static_cast<std::size_t>(c)] * scale);
}

// rows [count, C] -> out [C]; a NaN anywhere in a column stays visible
void max_rows(const float* rows, std::int64_t count, std::int64_t width, float* out) {
  std::fill_n(out, width, count > 0 ? -std::numeric_limits<float>::infinity() : 0.0f);
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t c = 0; c < width; ++c) {
      const float value = rows[r * width + c];
      if (value > out[c] || std::isnan(value)) out[c] = value;
    }
  }
}

}  // namespace

void pool_rows(Context& context, const PoolArgs& args) {
  const auto sequences = static_cast<std::int64_t>(args.cu_lens.size()) - 1;
  context.parallel_for(sequences, [&](Context& lane, std::int64_t n) {
    const OpTimer timer(lane, OpKind::pool);
    const std::int64_t first = args.cu_lens[n], end = args.cu_lens[n + 1];
    const float* begin_row = args.hidden + first * args.width;
    float* out = args.out + n * args.out_stride;
    switch (args.pooling) {
      case Pooling::mean: return mean_rows(begin_row + args.width, end - first - 2, args.width, out);
      case Pooling::max: return max_rows(begin_row + args.width, end - first - 2, args.width, out);
      case Pooling::cls: std::copy_n(begin_row, args.width, out); return;
      case Pooling::eos: std::copy_n(args.hidden + (end - 1) * args.width, args.width, out); return;
    }
  });
}

}  // namespace biowarp
