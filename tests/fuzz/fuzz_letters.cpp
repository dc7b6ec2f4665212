#include <stdexcept>

#include "seq/alphabet.h"
#include "seq/protein.h"
#include "targets.h"

namespace biowarp::fuzz {
namespace {

void expect(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

void check(std::string_view letters, const LetterPolicy& policy) {
  const Residues residues = read_residues(letters, policy);
  expect(residues.tokens.size() <= letters.size(), "more residues than letters");
  for (const std::uint8_t token : residues.tokens) {
    expect((token >= esm::kFirstLetter && token < 31) || token == esm::kMask, "a token that is no residue");
  }
  expect(residues.error.empty() || residues.tokens.empty(), "residues of a refused record");
  describe(residues.changes);
}

}  // namespace

void fuzz_letters(Bytes bytes) {
  check(text_of(bytes), {});
  check(text_of(bytes), {.strip_gaps = true, .soft_mask_to_x = true});
}

}  // namespace biowarp::fuzz
