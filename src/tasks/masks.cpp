#include "tasks/masks.h"

#include <charconv>
#include <fstream>
#include <optional>

#include "base/fail.h"
#include "base/random.h"
#include "seq/alphabet.h"

namespace biowarp {
namespace {

constexpr double kShownAsMask = 0.8, kShownAsRandom = 0.1;

class RandomMasks : public MaskSource {
 public:
  explicit RandomMasks(const MaskOptions& options) : options_(options) {
    if (!(options.rate > 0 && options.rate <= 1)) {
      fail_usage("expected a mask rate above 0 and up to 1, got {}", options.rate);
    }
  }

  std::vector<MaskedResidue> select(std::int64_t record, std::span<const std::uint8_t> residues) override {
    const std::uint64_t stream = mix_bits(mix_bits(options_.seed) ^ static_cast<std::uint64_t>(record));
    std::vector<MaskedResidue> selected;
    for (std::size_t i = 0; i < residues.size(); ++i) {
      const std::uint64_t key = mix_bits(stream ^ (i + 1));
      if (residues[i] == esm::kMask || unit_interval(mix_bits(key)) >= options_.rate) continue;
      selected.push_back({static_cast<std::int64_t>(i), shown(key, residues[i]), residues[i]});
    }
    return selected;
  }

 private:
  std::uint8_t shown(std::uint64_t key, std::uint8_t letter) const {
    if (options_.scheme == MaskScheme::mask) return static_cast<std::uint8_t>(esm::kMask);
    const double choice = unit_interval(mix_bits(key + 1));
    if (choice < kShownAsMask) return static_cast<std::uint8_t>(esm::kMask);
    if (choice >= kShownAsMask + kShownAsRandom) return letter;
    const bool any_token = options_.random == RandomLetters::vocabulary;
    const int first = any_token ? 0 : esm::kFirstLetter;
    const int end = any_token ? esm::kVocabulary : esm::kStandardEnd;
    return static_cast<std::uint8_t>(first + static_cast<int>(unit_interval(mix_bits(key + 2)) * (end - first)));
  }

  MaskOptions options_;
};

class MaskTable : public MaskSource {
 public:
  explicit MaskTable(const std::string& path) : path_(path), in_(path) {
    std::string header;
    if (!in_ || !std::getline(in_, header)) fail_input("cannot read masks from {}", path);
    if (header + "\n" != kMaskHeader) {
      fail_input("{}: expected the columns record, position, input, target, separated by tabs, got '{}'", path, header);
    }
    advance();
  }

  std::vector<MaskedResidue> select(std::int64_t record, std::span<const std::uint8_t> residues) override {
    if (row_ && row_->record < record) fail_at("record {} was skipped or stands out of order", row_->record);
    std::vector<MaskedResidue> selected;
    for (; row_ && row_->record == record; advance()) {
      const MaskedResidue mask = row_->mask;
      const auto length = static_cast<std::int64_t>(residues.size());
      if (mask.residue < 0 || mask.residue >= length) {
        fail_at("record {} has residues 1 to {}, got position {}", record, length, mask.residue + 1);
      }
      if (!selected.empty() && mask.residue <= selected.back().residue) {
        fail_at("positions of record {} must ascend, got {}", record, mask.residue + 1);
      }
      const std::uint8_t found = residues[static_cast<std::size_t>(mask.residue)];
      if (found != mask.target) {
        fail_at("record {} has {} at position {}, the table says {}", record, esm::kTokens[found], mask.residue + 1,
                esm::kTokens[mask.target]);
      }
      selected.push_back(mask);
    }
    return selected;
  }

  void finish() override {
    if (row_) fail_at("record {} is not in the input", row_->record);
  }

 private:
  struct Row {
    std::int64_t record;
    MaskedResidue mask;
  };

  template <class... Args>
  [[noreturn]] void fail_at(fmt::format_string<Args...> text, Args&&... args) const {
    fail_input("{}, line {}: {}", path_, line_, fmt::format(text, std::forward<Args>(args)...));
  }

  void advance() {
    row_.reset();
    std::string line;
    if (!std::getline(in_, line)) return;
    ++line_;
    std::vector<std::string_view> fields;
    std::string_view rest = line;
    for (std::size_t tab = rest.find('\t'); tab != rest.npos; tab = rest.find('\t')) {
      fields.push_back(rest.substr(0, tab));
      rest.remove_prefix(tab + 1);
    }
    fields.push_back(rest);
    if (fields.size() != 4) fail_at("expected 4 columns, got {}", fields.size());
    row_ = Row{number(fields[0]), {number(fields[1]) - 1, token(fields[2]), token(fields[3])}};
  }

  std::int64_t number(std::string_view text) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) fail_at("expected a number, got '{}'", text);
    return value;
  }

  std::uint8_t token(std::string_view text) const {
    for (std::size_t i = 0; i < esm::kTokens.size(); ++i) {
      if (esm::kTokens[i] == text) return static_cast<std::uint8_t>(i);
    }
    fail_at("expected a token of ESM-2's vocabulary, got '{}'", text);
  }

  std::string path_;
  std::ifstream in_;
  std::int64_t line_ = 1;
  std::optional<Row> row_;  // next to hand out
};

}  // namespace

MaskScheme parse_mask_scheme(std::string_view text) {
  if (text == "80/10/10") return MaskScheme::mixed;
  if (text == "mask") return MaskScheme::mask;
  fail_usage("expected a mask scheme, 80/10/10 or mask, got '{}'", text);
}

RandomLetters parse_random_letters(std::string_view text) {
  if (text == "aa") return RandomLetters::amino_acids;
  if (text == "vocab") return RandomLetters::vocabulary;
  fail_usage("expected random letters from aa or vocab, got '{}'", text);
}

std::unique_ptr<MaskSource> open_masks(const MaskOptions& options) {
  if (!options.masks_file.empty()) return std::make_unique<MaskTable>(options.masks_file);
  return std::make_unique<RandomMasks>(options);
}

std::string mask_rows(std::int64_t record, std::span<const MaskedResidue> masks) {
  std::string rows;
  for (const MaskedResidue& mask : masks) {
    rows +=
        fmt::format("{}\t{}\t{}\t{}\n", record, mask.residue + 1, esm::kTokens[mask.input], esm::kTokens[mask.target]);
  }
  return rows;
}

}  // namespace biowarp
