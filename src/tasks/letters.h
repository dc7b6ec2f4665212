// Residues of a sequence that must be readable.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "seq/protein.h"

namespace biowarp {

// Throws Error(input) with the sequence number (from 1), the character and its column.
std::vector<std::uint8_t> residues_or_fail(std::string_view letters, std::int64_t number,
                                           const LetterPolicy& policy = {});

}  // namespace biowarp
