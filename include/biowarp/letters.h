// What to do with letters that are not plain upper-case amino acids; the fixed rules are in docs/input.md.
#pragma once

namespace biowarp {

struct LetterPolicy {
  bool strip_gaps = false;      // drop '.' and '-' instead of embedding them
  bool soft_mask_to_x = false;  // lower case means masked-out: read as X
};

}  // namespace biowarp
