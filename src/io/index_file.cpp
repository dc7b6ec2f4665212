#include "io/index_file.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace biowarp {
namespace {

constexpr std::size_t kFields = 9;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\t': out += "\\t"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\\': out += "\\\\"; break;
      default: out += c;
    }
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char code = text[++i];
    out += code == 't' ? '\t' : code == 'n' ? '\n' : code == 'r' ? '\r' : code;
  }
  return out;
}

bool parse_number(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

}  // namespace

const std::string kIndexHeader = "row\tkey\tid\tdescription\tlength\tstatus\tchanges\treason\thash\n";

std::string format_index_line(const IndexLine& line) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", line.skipped() ? "" : std::to_string(line.row),
                     escaped(line.key), escaped(line.id), escaped(line.description), line.length,
                     line.skipped() ? "skipped" : "ok", escaped(line.changes), escaped(line.reason), line.hash);
}

bool parse_index_line(std::string_view text, IndexLine& line) {
  std::array<std::string_view, kFields> field;
  for (std::size_t i = 0; i < kFields; ++i) {
    const std::size_t tab = text.find('\t');
    if ((tab == std::string_view::npos) != (i + 1 == kFields)) return false;
    field[i] = text.substr(0, tab);
    text.remove_prefix(tab == std::string_view::npos ? text.size() : tab + 1);
  }
  line.row = -1;
  const bool skipped = field[5] == "skipped" && field[0].empty();
  if (!skipped && (field[5] != "ok" || !parse_number(field[0], line.row))) return false;
  if (!parse_number(field[4], line.length) || field[8].empty()) return false;
  line.key = unescaped(field[1]);
  line.id = unescaped(field[2]);
  line.description = unescaped(field[3]);
  line.changes = unescaped(field[6]);
  line.reason = unescaped(field[7]);
  line.hash = field[8];
  return true;
}

IndexReader::IndexReader(const std::string& path) : file_(path, std::ios::binary) {
  std::string header;
  valid_ = file_ && std::getline(file_, header) && !file_.eof() && header + "\n" == kIndexHeader;
  if (valid_) position_ = static_cast<std::int64_t>(kIndexHeader.size());
}

bool IndexReader::next(IndexLine& line) {
  std::string text;
  if (!valid_ || !std::getline(file_, text) || file_.eof() || !parse_index_line(text, line)) return valid_ = false;
  position_ += static_cast<std::int64_t>(text.size()) + 1;
  return true;
}

}  // namespace biowarp
