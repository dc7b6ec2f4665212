// The loop shared by the blocked CPU kernels: queries twelve at a time, keys kKeyBlock at a time, online
// softmax.
//
// A Kernel supplies the arithmetic, all static, over its own Buffers:
//   kQueries, kQueryGroup                       queries of a block; a block with few of them takes kQueryGroup rows
//   kKeyStep                                    keys are computed in multiples of this, 64 at most
//   pack(task, padded, buffers)                 keys and values of the sequence in the kernel's own order
//   load_queries(task, first, count, rows, b)   rows of the block, missing ones repeated; sums set to zero
//   bound_scores(b, count, factor, state)       true when a bound on every query's scores, put into the states, is
//   small
//                                               enough to stand in for the running maximum
//   bounded_softmax(b, padded, key, valid, width, rows, factor, state)   exponentials of the block under that bound
//   scores(b, padded, key, width, rows)         raw products of the block with keys key .. key+width-1
//   softmax(b, row, valid, width, factor, st)   exponentials; returns the correction of the row's earlier sums
//   add_values(b, key, valid, correction, rows) sums = sums * correction + probabilities . values
//   store(b, state, task, first, count)         the block's results
#pragma once

#include <algorithm>
#include <cfloat>
#include <cstdint>
#include <numbers>
#include <type_traits>

#include "ops/attention/attention_row.h"

namespace biowarp {

constexpr std::int64_t kKeyBlock = 256;  // keys per block: scores of 12 queries are 12 KiB

// Head widths the kernels are compiled for; a head in between is padded with zeros.
inline std::int64_t kernel_width(std::int64_t width) {
  return width <= 16 ? 16 : width <= 24 ? 24 : width <= 32 ? 32 : width <= 64 ? 64 : 128;
}
template <class Body>
void for_kernel_width(std::int64_t width, Body&& body) {
  switch (kernel_width(width)) {
    case 16: return body(std::integral_constant<int, 16>{});
    case 24: return body(std::integral_constant<int, 24>{});
    case 32: return body(std::integral_constant<int, 32>{});
    case 64: return body(std::integral_constant<int, 64>{});
    default: return body(std::integral_constant<int, 128>{});
  }
}

// Running softmax of one query.
struct SoftmaxState {
  float largest = -FLT_MAX;  // raw score, or a bound on all of them
  float sum = 0;
};

// Keys are packed up to a multiple of 64; what lies beyond the sequence is zero.
inline std::int64_t padded_keys(std::int64_t length) { return (length + 63) / 64 * 64; }

template <class Kernel>
__attribute__((always_inline)) inline void attend(const HeadTask& task, typename Kernel::Buffers& buffers) {
  constexpr int kQueries = Kernel::kQueries;
  const float factor = task.scale * std::numbers::log2e_v<float>;
  const std::int64_t padded = padded_keys(task.length), end = task.first_query + task.queries;
  Kernel::pack(task, padded, buffers);
  for (std::int64_t first = task.first_query; first < end; first += kQueries) {
    const int count = static_cast<int>(std::min<std::int64_t>(kQueries, end - first));
    const int rows = count <= Kernel::kQueryGroup ? Kernel::kQueryGroup : kQueries;
    SoftmaxState state[kQueries];
    alignas(64) float correction[kQueries] = {};
    Kernel::load_queries(task, first, count, rows, buffers);
    const bool bounded = Kernel::bound_scores(buffers, count, factor, state);
    if (bounded) std::fill_n(correction, count, 1.0f);
    for (std::int64_t key = 0; key < task.length; key += kKeyBlock) {
      const std::int64_t valid = std::min(kKeyBlock, task.length - key);
      const std::int64_t width = (valid + Kernel::kKeyStep - 1) / Kernel::kKeyStep * Kernel::kKeyStep;
      if (bounded) {
        Kernel::bounded_softmax(buffers, padded, key, valid, width, rows, factor, state);
      } else {
        Kernel::scores(buffers, padded, key, width, rows);
        for (int i = 0; i < count; ++i) correction[i] = Kernel::softmax(buffers, i, valid, width, factor, state[i]);
      }
      Kernel::add_values(buffers, key, valid, correction, rows);
    }
    Kernel::store(buffers, state, task, first, count);
  }
}

}  // namespace biowarp
