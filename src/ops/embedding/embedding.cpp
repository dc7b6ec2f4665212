#include "ops/embedding/embedding.h"

#include <algorithm>

namespace biowarp {

void embed_tokens(Context& context, const EmbeddingArgs& args) {
  const auto sequences = static_cast<std::int64_t>(args.cu_lens.size()) - 1;
  context.parallel_for(sequences, [&](Context& lane, std::int64_t n) {
    const OpTimer timer(lane, OpKind::embedding);
    const float scale = args.token_dropout ? args.scale[static_cast<std::size_t>(n)] : 1.0f;
    for (std::int64_t t = args.cu_lens[n]; t < args.cu_lens[n + 1]; ++t) {
      const std::int32_t token = args.tokens[static_cast<std::size_t>(t)];
      float* x = args.x + t * args.width;
      if (args.token_dropout && token == args.mask_token) {
        std::fill_n(x, args.width, 0.0f);
        continue;
      }
      const float* row = args.table + token * args.width;
      for (std::int64_t c = 0; c < args.width; ++c) x[c] = row[c] * scale;
    }
  });
  const auto rows = static_cast<std::int64_t>(args.tokens.size());
  std::fill_n(args.x + rows * args.width, (args.padded_rows - rows) * args.width, 0.0f);
}

}  // namespace biowarp
