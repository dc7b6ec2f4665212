// Rows of a batch, a panel at a time: the unit of work of everything in a layer but attention.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/cpu.h"
#include "mem/context.h"
#include "ops/gemm/gemm.h"

namespace biowarp {

inline std::int64_t padded_rows(std::int64_t rows) { return (rows + kRowQuantum - 1) / kRowQuantum * kRowQuantum; }

// Rows per panel so that every worker gets some; the products give the same bits at any size. Each panel streams all
// weights of its layers once: where AMX outruns the memory behind them, panels are as large as they may be; elsewhere
// half of that keeps a panel's own rows in the second cache level.
inline std::int64_t panel_rows(std::int64_t rows, int workers) {
  const std::int64_t share = padded_rows((rows + workers - 1) / workers);
  return std::clamp(share, kRowQuantum, cpu_features().amx_bf16 ? kPanelRows : kPanelRows / 2);
}

// body(lane, first, count) over all rows up to padded_rows(rows); count is a multiple of kRowQuantum.
template <class Body>
void for_panels(Context& context, std::int64_t rows, Body&& body) {
  const std::int64_t all = padded_rows(rows), panel = panel_rows(rows, context.workers());
  context.parallel_for((all + panel - 1) / panel, [&](Context& lane, std::int64_t index) {
    const std::int64_t first = index * panel;
    body(lane, first, std::min(panel, all - first));
  });
}

}  // namespace biowarp
