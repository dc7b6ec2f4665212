// Random numbers without state: the same arguments give the same bits on every thread, in every order.
#pragma once

#include <cstdint>

namespace biowarp {

// SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection with good avalanche.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// [0, 1), from the upper 53 bits.
constexpr double unit_interval(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace biowarp
