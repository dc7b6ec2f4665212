// One table maps a byte to what it is; blocks of plain letters are translated without looking at single
// bytes.
#include "seq/protein.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "seq/alphabet.h"

namespace biowarp {
namespace {

// A table entry: the upper two bits say how a byte is read, the lower six hold its token or an Other.
enum Kind : std::uint8_t { kPlain = 0x00, kLower = 0x40, kGap = 0x80, kOther = 0xc0 };
constexpr std::uint8_t kKindBits = 0xc0, kTokenBits = 0x3f;
enum Other : std::uint8_t { kBlank, kStop, kUnknownUpper, kUnknownLower, kSpecial, kForeign };

constexpr std::uint8_t entry(Kind kind, int value) { return static_cast<std::uint8_t>(kind | value); }

constexpr std::array<std::uint8_t, 256> make_table() {
  std::array<std::uint8_t, 256> table{};
  table.fill(entry(kOther, kForeign));
  for (const char blank : {' ', '\t', '\r', '\n', '\v', '\f'}) {
    table[static_cast<unsigned char>(blank)] = entry(kOther, kBlank);
  }
  for (char digit = '0'; digit <= '9'; ++digit) table[static_cast<unsigned char>(digit)] = entry(kOther, kBlank);
  for (char letter = 'A'; letter <= 'Z'; ++letter) {
    const std::int32_t token = esm::token_of(letter);
    const auto upper = static_cast<unsigned char>(letter), lower = static_cast<unsigned char>(letter + 'a' - 'A');
    table[upper] = token < 0 ? entry(kOther, kUnknownUpper) : entry(kPlain, token);
    table[lower] = token < 0 ? entry(kOther, kUnknownLower) : entry(kLower, token);
  }
  for (const char gap : {'.', '-'}) table[static_cast<unsigned char>(gap)] = entry(kGap, esm::token_of(gap));
  table['*'] = entry(kOther, kStop);
  table['<'] = entry(kOther, kSpecial);
  return table;
}
constexpr std::array<std::uint8_t, 256> kTable = make_table();

std::uint8_t look_up(char letter) { return kTable[static_cast<unsigned char>(letter)]; }

// "'#'", "'é' (not ASCII)" or "byte 0x07".
std::string name_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first >= 0x20 && first < 0x7f) return fmt::format("character '{}'", text[0]);
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
  const auto follows = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  const bool utf8 =
      length > 1 && text.size() >= length && std::all_of(text.begin() + 1, text.begin() + length, follows);
  if (utf8) return fmt::format("character '{}'", text.substr(0, length));
  return fmt::format("byte 0x{:02x}", first);
}

class Translator {
 public:
  Translator(std::string_view letters, const LetterPolicy& policy) : letters_(letters), policy_(policy) {
    result_.tokens.resize(letters.size());
    out_ = result_.tokens.data();
  }

  Residues run() {
    while (at_ < letters_.size() && result_.error.empty()) {
      if (!take_plain_block()) take_one();
    }
    finish();
    return std::move(result_);
  }

 private:
  static constexpr std::size_t kBlock = 32;

  // Translates the next kBlock letters if all of them are plain.
  bool take_plain_block() {
    if (slow_until_ > at_ || letters_.size() - at_ < kBlock) return false;
    std::uint8_t kinds = 0;
    for (std::size_t i = 0; i < kBlock; ++i) kinds |= out_[i] = look_up(letters_[at_ + i]);
    if ((kinds & kKindBits) != kPlain) {
      slow_until_ = at_ + kBlock;
      return false;
    }
    at_ += kBlock;
    out_ += kBlock;
    settle_stops();
    return true;
  }

  void take_one() {
    const std::uint8_t value = look_up(letters_[at_]);
    const auto token = static_cast<std::uint8_t>(value & kTokenBits);
    switch (value & kKindBits) {
      case kPlain: put(token); break;
      case kLower: put_lower(token); break;
      case kGap: policy_.strip_gaps ? void(++changes().gaps) : put(token); break;
      default: take_other(static_cast<Other>(token)); return;
    }
    ++at_;
  }

  void take_other(Other other) {
    switch (other) {
      case kBlank: ++changes().blanks; break;
      case kStop:
        *out_++ = esm::kX;
        ++open_stops_;
        break;
      case kUnknownUpper:
        ++changes().unknown;
        put(esm::kX);
        break;
      case kUnknownLower:
        if (!policy_.soft_mask_to_x) ++changes().unknown;
        put_lower(esm::kX);
        break;
      case kSpecial: take_special(); return;
      case kForeign: refuse(name_character(letters_.substr(at_))); return;
    }
    ++at_;
  }

  void take_special() {
    constexpr std::string_view kMaskText = "<mask>";
    const std::string_view rest = letters_.substr(at_);
    if (rest.substr(0, kMaskText.size()) == kMaskText) {
      put(esm::kMask);
      at_ += kMaskText.size();
      return;
    }
    const auto known = std::find_if(esm::kTokens.begin(), esm::kTokens.end(), [&](std::string_view token) {
      return token.size() > 1 && rest.substr(0, token.size()) == token;
    });
    refuse(known == esm::kTokens.end() ? "character '<'" : fmt::format("special token {}", *known));
  }

  void put(std::int32_t token) {
    *out_++ = static_cast<std::uint8_t>(token);
    settle_stops();
  }

  void put_lower(std::int32_t token) {
    ++(policy_.soft_mask_to_x ? changes().soft_masked : changes().upper_cased);
    put(policy_.soft_mask_to_x ? esm::kX : token);
  }

  // A residue behind them makes stops inner ones.
  void settle_stops() { changes().inner_stops += std::exchange(open_stops_, 0); }

  void refuse(const std::string& what) {
    result_.error = fmt::format("{} at column {} of the sequence is not a letter of a protein", what, at_ + 1);
  }

  // SaProt writes each residue as an amino acid and a lower-case letter of its structure: MdKv is two
  // residues.
  bool looks_like_saprot() const {
    const auto count = static_cast<std::int64_t>(result_.tokens.size());
    const std::int64_t lower = result_.changes.upper_cased + result_.changes.soft_masked;
    if (count < 4 || lower * 2 != count || static_cast<std::size_t>(count) != letters_.size()) return false;
    for (std::size_t i = 0; i < letters_.size(); i += 2) {
      if (look_up(letters_[i]) >= kLower || (look_up(letters_[i + 1]) & kKindBits) != kLower) return false;
    }
    return true;
  }

  void finish() {
    out_ -= open_stops_;
    changes().final_stops += std::exchange(open_stops_, 0);
    result_.tokens.resize(static_cast<std::size_t>(out_ - result_.tokens.data()));
    if (result_.error.empty() && looks_like_saprot()) {
      result_.error = fmt::format(
          "letters alternate between upper and lower case from column 2 ('{}') on, as in SaProt's "
          "structure-aware "
          "alphabet; ESM-2 reads amino acids alone",
          letters_[1]);
    }
    if (!result_.error.empty()) {
      result_.tokens.clear();
      result_.changes = {};
    }
  }

  LetterChanges& changes() { return result_.changes; }

  std::string_view letters_;
  LetterPolicy policy_;
  Residues result_;
  std::uint8_t* out_ = nullptr;  // next token
  std::size_t at_ = 0;           // next letter
  std::size_t slow_until_ = 0;   // letters before it are read one by one
  std::int64_t open_stops_ = 0;  // stops read as X since the last residue
};

}  // namespace

LetterChanges& LetterChanges::operator+=(const LetterChanges& other) {
  upper_cased += other.upper_cased;
  soft_masked += other.soft_masked;
  blanks += other.blanks;
  final_stops += other.final_stops;
  inner_stops += other.inner_stops;
  unknown += other.unknown;
  gaps += other.gaps;
  return *this;
}

Residues read_residues(std::string_view letters, const LetterPolicy& policy) {
  return Translator(letters, policy).run();
}

std::string describe(const LetterChanges& changes) {
  const std::pair<const char*, std::int64_t> rows[] = {
      {"upper-cased", changes.upper_cased},
      {"soft-masked to X", changes.soft_masked},
      {"blanks dropped", changes.blanks},
      {"final * dropped", changes.final_stops},
      {"inner * read as X", changes.inner_stops},
      {"J read as X", changes.unknown},
      {"gaps dropped", changes.gaps},
  };
  std::string text;
  for (const auto& [what, count] : rows) {
    if (count != 0) fmt::format_to(std::back_inserter(text), "{}{} {}", text.empty() ? "" : ", ", what, count);
  }
  return text;
}

}  // namespace biowarp
