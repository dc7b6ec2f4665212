// The 33 tokens of ESM-2 (fair-esm's "ESM-1b" alphabet, Hugging Face's vocab.txt).
//   0 <cls>  1 <pad>  2 <eos>  3 <unk>  4 L A G V S E R T I D P K Q N F Y M H W C  24 X B U Z O  29 .  30 -
//   31 <null_1>  32 <mask>
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace biowarp::esm {

constexpr int kVocabulary = 33;
constexpr std::int32_t kCls = 0, kPad = 1, kEos = 2, kUnk = 3, kFirstLetter = 4, kX = 24, kMask = 32;
// Tokens 4..23 are the 20 standard amino acids.
constexpr std::int32_t kStandardEnd = 24;

constexpr std::array<std::string_view, kVocabulary> kTokens{
    "<cls>", "<pad>", "<eos>", "<unk>", "L", "A", "G", "V", "S", "E", "R", "T", "I", "D", "P",        "K",     "Q",
    "N",     "F",     "Y",     "M",     "H", "W", "C", "X", "B", "U", "Z", "O", ".", "-", "<null_1>", "<mask>"};

// Token of an upper-case letter, '.' or '-'; -1 for everything else.
constexpr std::int32_t token_of(char letter) {
  for (std::int32_t token = kFirstLetter; token < 31; ++token) {
    if (kTokens[static_cast<std::size_t>(token)][0] == letter) return token;
  }
  return -1;
}

}  // namespace biowarp::esm
