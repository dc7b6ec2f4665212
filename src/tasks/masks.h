// Which residues a masked-language-model loss scores, and what the model sees in their place.
//
// Table of masks (--masks, --dump-masks): tab-separated text, one header line
//   record  position  input  target
// record: 0-based number in the whole input; position: 1-based residue number, which is also the token number
// behind the begin token; input and target: tokens as in ESM-2's vocabulary ("A", "<mask>"). Rows ascend by
// record, then by position.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "biowarp/perplexity.h"

namespace biowarp {

struct MaskedResidue {
  std::int64_t residue = 0;  // 0-based
  std::uint8_t input = 0;    // token the model sees
  std::uint8_t target = 0;   // token that is scored
};

class MaskSource {
 public:
  virtual ~MaskSource() = default;
  // Selected residues of a record, ascending. Records are asked for in ascending order. A <mask> that stands
  // in the record itself is never selected: nobody knows its letter.
  virtual std::vector<MaskedResidue> select(std::int64_t record, std::span<const std::uint8_t> residues) = 0;
  // After the last record. Throws Error(input) when the table names records that never came.
  virtual void finish() {}
};

// Throws Error(usage) for a rate outside (0, 1], Error(input) for a table that cannot be read.
std::unique_ptr<MaskSource> open_masks(const MaskOptions& options);

// Rows of the table for one record, each with its line break.
std::string mask_rows(std::int64_t record, std::span<const MaskedResidue> masks);
constexpr const char* kMaskHeader = "record\tposition\tinput\ttarget\n";

}  // namespace biowarp
