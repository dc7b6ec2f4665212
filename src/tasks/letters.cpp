#include "tasks/letters.h"

#include "base/fail.h"

namespace biowarp {

std::vector<std::uint8_t> residues_or_fail(std::string_view letters, std::int64_t number, const LetterPolicy& policy) {
  Residues residues = read_residues(letters, policy);
  if (!residues.error.empty()) fail_input("sequence {}: {}", number, residues.error);
  return std::move(residues.tokens);
}

}  // namespace biowarp
