// Choosing among the implementations of an op.
//
// An op keeps an array of rows, best first, the plain reference last. A row says in words why it cannot take
// a description, or nothing. The first row without objection is taken.
//   BIOWARP_TRACE=dispatch   prints each refusal and each choice
//   BIOWARP_FORCE=gemm=simd,attention=reference   takes rows by name, or fails with the row's own words
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/environment.h"
#include "base/fail.h"
#include "base/log.h"

namespace biowarp {

// Name that BIOWARP_FORCE gives for `op`; empty when it gives none.
std::string forced_row(std::string_view op);
bool trace_dispatch();

// Row needs: `const char* name` and `std::string why_not(const Desc&) const` (empty = can run).
template <class Row, class Desc>
const Row& choose_row(std::string_view op, std::span<const Row> rows, const Desc& desc) {
  const std::string forced = forced_row(op);
  std::string refusals;
  for (const Row& row : rows) {
    if (!forced.empty() && forced != row.name) continue;
    const std::string objection = row.why_not(desc);
    if (trace_dispatch()) log_info("{} {}: {}", op, row.name, objection.empty() ? "chosen" : objection);
    if (objection.empty()) return row;
    refusals += fmt::format("\n  {}: {}", row.name, objection);
  }
  if (refusals.empty()) fail_usage("op '{}' has no implementation named '{}'", op, forced);
  fail(ErrorKind::device, "no implementation of {} can run here:{}", op, refusals);
}

}  // namespace biowarp
