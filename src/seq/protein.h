// From the letters of a record to residue tokens, with every change counted and nothing changed silently.
//
// Rules (numbers of the public reports they answer, see docs/input.md):
//   lower case           upper-cased; soft masking to X by option (S15)
//   blanks, digits, tabs dropped
//   final '*'            dropped (S14); an inner '*' is read as X
//   J and other letters without a token   read as X (S11)
//   '.' and '-'          kept as their own tokens; dropped by option (S13)
//   <mask>               one masked residue (S17); any other <special> is an error
//   anything else        an error that names the character and its column (S19)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "biowarp/letters.h"

namespace biowarp {

struct LetterChanges {
  std::int64_t upper_cased = 0;
  std::int64_t soft_masked = 0;
  std::int64_t blanks = 0;  // white space and digits dropped
  std::int64_t final_stops = 0;
  std::int64_t inner_stops = 0;  // read as X
  std::int64_t unknown = 0;      // letters read as X
  std::int64_t gaps = 0;         // dropped gaps
  bool any() const { return upper_cased + soft_masked + blanks + final_stops + inner_stops + unknown + gaps != 0; }
  LetterChanges& operator+=(const LetterChanges& other);
};

struct Residues {
  std::vector<std::uint8_t> tokens;  // [L] one token per residue, without begin and end
  LetterChanges changes;
  std::string error;  // empty, or why this record cannot be read (character, column)
};

Residues read_residues(std::string_view letters, const LetterPolicy& policy = {});

// "upper-cased 3, J/O read as X 1" for the index and the summary; empty without changes.
std::string describe(const LetterChanges& changes);

}  // namespace biowarp
