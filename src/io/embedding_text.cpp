// .tsv and .csv
//   pooled        id, length, e0 .. e<C-1>; several layers: l<layer>_e0 ...
//   per residue   id, position (from 1), the same columns; one line per residue
// Numbers are the shortest decimals that read back as the same value of the output's type. CSV fields are
// quoted as RFC 4180 says.
#include <fmt/format.h>

#include <cstring>
#include <iterator>

#include "base/half.h"
#include "io/embedding_file.h"
#include "io/file.h"

namespace biowarp {
namespace {

float value_at(const std::byte* values, DType dtype, std::int64_t i) {
  if (dtype == DType::f32) {
    float value;
    std::memcpy(&value, values + i * 4, sizeof value);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, values + i * 2, sizeof bits);
  return dtype == DType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

void write_text_file(const EmbeddingSource& source, const EmbeddingLayout& layout, const std::string& target,
                     const KeySink& keys, char separator) {
  const EmbeddingText text(layout, separator);
  AtomicFile file(target);
  file.write(text.header());
  source.visit([&](const EmbeddedRecord& record, std::span<const std::byte> values) {
    file.write(text.lines(record, values));
    keys(record.id);
  });
  file.commit();
}

}  // namespace

std::string EmbeddingText::header() const {
  std::string line = fmt::format("id{}{}", separator_, layout_.per_residue ? "position" : "length");
  for (const int layer : layout_.layers) {
    const std::string prefix = layout_.layers.size() > 1 ? fmt::format("l{}_", layer) : "";
    for (std::int64_t c = 0; c < layout_.hidden; ++c) line += fmt::format("{}{}e{}", separator_, prefix, c);
  }
  return line + "\n";
}

std::string EmbeddingText::quoted(const std::string& text) const {
  if (separator_ == '\t' || text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string EmbeddingText::lines(const EmbeddedRecord& record, std::span<const std::byte> values) const {
  const std::int64_t count = layout_.per_residue ? record.length : 1;  // lines of this record
  const std::string id = quoted(record.id);
  std::string out;
  for (std::int64_t i = 0; i < count; ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}{}", id, separator_, layout_.per_residue ? i + 1 : record.length);
    for (std::int64_t layer = 0; layer < layout_.layer_count(); ++layer) {
      const std::int64_t first = (layer * count + i) * layout_.hidden;
      for (std::int64_t c = 0; c < layout_.hidden; ++c) {
        fmt::format_to(std::back_inserter(out), "{}{}", separator_, value_at(values.data(), layout_.dtype, first + c));
      }
    }
    out += '\n';
  }
  return out;
}

void embedding::write_tsv(const EmbeddingSource& source, const EmbeddingLayout& layout, const std::string& target,
                          const KeySink& keys) {
  write_text_file(source, layout, target, keys, '\t');
}

void embedding::write_csv(const EmbeddingSource& source, const EmbeddingLayout& layout, const std::string& target,
                          const KeySink& keys) {
  write_text_file(source, layout, target, keys, ',');
}

}  // namespace biowarp
