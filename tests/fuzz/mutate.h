// Deterministic mutation of byte strings: the same corpus and number give the same bytes on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace biowarp::fuzz {

// Mutation number `number` of a corpus (not empty): one entry, changed in one to eight places. At most
// kLargest bytes.
std::string mutate(const std::vector<std::string>& corpus, std::uint64_t number);

inline constexpr std::size_t kLargest = 1 << 16;

}  // namespace biowarp::fuzz
