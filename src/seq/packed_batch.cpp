#include "seq/packed_batch.h"

#include <algorithm>

#include "seq/alphabet.h"

namespace biowarp {
namespace {

constexpr float kKeptInTraining = 1.0f - 0.15f * 0.8f;

}  // namespace

void PackedBatch::clear() {
  tokens.clear();
  cu_lens.clear();
  positions.clear();
  dropout_scale.clear();
  source.clear();
  longest = 0;
}

void PackedBatch::add(std::span<const std::uint8_t> residues, std::int64_t source_row) {
  if (cu_lens.empty()) cu_lens.push_back(0);
  tokens.push_back(esm::kCls);
  tokens.insert(tokens.end(), residues.begin(), residues.end());
  tokens.push_back(esm::kEos);

  const auto length = static_cast<std::int64_t>(residues.size()) + 2;
  for (std::int64_t i = 0; i < length; ++i) positions.push_back(static_cast<std::int32_t>(i));
  const auto masked = std::count(residues.begin(), residues.end(), static_cast<std::uint8_t>(esm::kMask));
  dropout_scale.push_back(kKeptInTraining / (1.0f - static_cast<float>(masked) / static_cast<float>(length)));
  source.push_back(source_row);
  cu_lens.push_back(cu_lens.back() + length);
  longest = std::max(longest, length);
}

}  // namespace biowarp
