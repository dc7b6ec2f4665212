#include "mutate.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace biowarp::fuzz {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014); the standard library's distributions differ between implementations.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 .. bound - 1; 0 for bound 0.
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : static_cast<std::size_t>(next() % bound); }

 private:
  std::uint64_t state_;
};

constexpr std::array<std::uint64_t, 10> kExtremes{
    0, 1, 0x7f, 0xff, 0x7fff, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff};

// Pieces of the formats under test.
constexpr std::array<std::string_view, 24> kWords{
    ">",       "\n",           "\r",   "\r\n", ";",  "*",  "\"", ",", "\t",    "<mask>",
    "<pad>",   "\x1f\x8b\x08", "null", "[]",   "{}", "-1", "{",  "}", "1e999", "9223372036854775807",
    "\\u0000", "data_offsets", "F32",  "\xff"};

std::size_t place(const std::string& text, Random& random) { return random.below(text.size() + 1); }

void flip_bit(std::string& text, Random& random) {
  if (text.empty()) return;
  char& c = text[random.below(text.size())];
  c = static_cast<char>(c ^ (1 << random.below(8)));
}

void set_byte(std::string& text, Random& random) {
  if (!text.empty()) text[random.below(text.size())] = static_cast<char>(random.next());
}

void remove_range(std::string& text, Random& random) {
  const std::size_t at = place(text, random);
  text.erase(at, 1 + random.below(random.below(4) == 0 ? text.size() : 8));
}

void repeat_range(std::string& text, Random& random) {
  const std::size_t at = place(text, random);
  const std::string range = text.substr(at, 1 + random.below(64));
  for (std::size_t times = 1 + random.below(8); times > 0; --times) text.insert(at, range);
}

void insert_word(std::string& text, Random& random) {
  text.insert(place(text, random), kWords[random.below(kWords.size())]);
}

// Little-endian lengths and offsets live in many formats.
void set_extreme(std::string& text, Random& random) {
  const std::size_t width = std::size_t{1} << random.below(4);
  if (text.size() < width) return;
  const std::size_t at = random.below(text.size() - width + 1);
  const std::uint64_t value = kExtremes[random.below(kExtremes.size())];
  for (std::size_t i = 0; i < width; ++i) text[at + i] = static_cast<char>(value >> (8 * i));
}

void splice(std::string& text, const std::string& other, Random& random) {
  text = text.substr(0, place(text, random)) + other.substr(place(other, random));
}

}  // namespace

std::string mutate(const std::vector<std::string>& corpus, std::uint64_t number) {
  Random random(number);
  std::string text = corpus[random.below(corpus.size())];
  for (std::size_t changes = 1 + random.below(8); changes > 0; --changes) {
    switch (random.below(7)) {
      case 0: flip_bit(text, random); break;
      case 1: set_byte(text, random); break;
      case 2: remove_range(text, random); break;
      case 3: repeat_range(text, random); break;
      case 4: insert_word(text, random); break;
      case 5: set_extreme(text, random); break;
      default: splice(text, corpus[random.below(corpus.size())], random); break;
    }
  }
  text.resize(std::min(text.size(), kLargest));
  return text;
}

}  // namespace biowarp::fuzz
