// Contact map of one protein.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tasks/engine.h"

namespace biowarp {

// Throws Error(input) that names the model when it has no trained contact head. Weights are never invented.
void require_contact_head(const Engine& engine);

// Most residues whose contact map the free memory holds.
std::int64_t longest_contact_map();

// residues [L] -> [L, L] contact probabilities. Throws Error(device) when memory does not suffice.
std::vector<float> contact_map(Engine& engine, std::span<const std::uint8_t> residues);

}  // namespace biowarp
