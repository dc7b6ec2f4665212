#include "io/table.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <span>

#include "base/fail.h"
#include "io/header_text.h"
#include "io/utf8.h"

namespace biowarp {
namespace {

constexpr char kTab = '\t';

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::vector<std::string> split_row(std::string_view line, char delimiter) {
  RowReader rows(LineReader(memory_bytes(std::as_bytes(std::span(line)), "header"), "header"), delimiter);
  std::vector<std::string> fields;
  rows.next(fields);
  for (std::string& field : fields) field = trim(field);
  return fields;
}

// Number of the column called `asked` or, when nothing is asked, of the first of the known names whatever
// their case.
std::optional<std::size_t> find_column(const std::vector<std::string>& columns, const std::string& asked,
                                       std::initializer_list<const char*> known) {
  const auto position = [&](auto&& matches) -> std::optional<std::size_t> {
    const auto found = std::find_if(columns.begin(), columns.end(), matches);
    if (found == columns.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns.begin());
  };
  if (!asked.empty()) return position([&](const std::string& column) { return column == asked; });
  for (const char* name : known) {
    if (const auto found = position([&](const std::string& column) { return lower(column) == name; })) return found;
  }
  return std::nullopt;
}

// "a, b, c", cut where it gets long.
std::string list_columns(const std::vector<std::string>& columns) {
  constexpr std::size_t kLongest = 400;
  std::string text = as_utf8(fmt::format("{}", fmt::join(columns, ", ")));
  if (text.size() > kLongest) text = text.substr(0, text.rfind(',', kLongest)) + ", ...";
  return text;
}

void remove_line_breaks(std::string& text) { text.erase(std::remove(text.begin(), text.end(), '\n'), text.end()); }

}  // namespace

bool RowReader::next(std::vector<std::string>& fields) {
  const auto blank = [&] { return fields.size() == 1 && trim(fields[0]).empty(); };
  do {
    if (!next_row(fields)) return false;
  } while (blank());
  return true;
}

bool RowReader::next_row(std::vector<std::string>& fields) {
  fields.assign(1, "");
  place_ = Place::field_start;
  row_bytes_ = 0;
  bool begun = false;
  for (LineReader::Piece piece; lines_.next(piece);) {
    if (!std::exchange(begun, true)) line_ = lines_.line();
    take(piece.text, fields);
    if (!piece.ends_line) continue;
    if (place_ != Place::quoted) {
      end_field(fields);
      return true;
    }
    append(fields, "\n");
  }
  if (begun && place_ == Place::quoted) {
    fail_input("{}: the row at line {} has a quote (\") that is never closed", name(), line_);
  }
  if (begun) end_field(fields);
  return begun;
}

void RowReader::take(std::string_view text, std::vector<std::string>& fields) {
  while (!text.empty()) {
    const bool in_quotes = place_ == Place::quoted || place_ == Place::quote_in_quoted;
    text.remove_prefix(in_quotes ? take_quoted(text, fields) : take_plain(text, fields));
  }
}

std::size_t RowReader::take_plain(std::string_view text, std::vector<std::string>& fields) {
  if (place_ == Place::field_start && text[0] == '"' && delimiter_ != kTab) {
    place_ = Place::quoted;
    return 1;
  }
  const std::size_t end = text.find(delimiter_);
  append(fields, text.substr(0, end));
  place_ = Place::plain;
  if (end == std::string_view::npos) return text.size();
  end_field(fields);
  fields.emplace_back();
  place_ = Place::field_start;
  return end + 1;
}

std::size_t RowReader::take_quoted(std::string_view text, std::vector<std::string>& fields) {
  if (place_ == Place::quote_in_quoted) {
    const bool doubled = text[0] == '"';
    if (doubled) append(fields, "\"");
    place_ = doubled ? Place::quoted : Place::plain;
    return doubled ? 1 : 0;
  }
  const std::size_t end = text.find('"');
  append(fields, text.substr(0, end));
  if (end == std::string_view::npos) return text.size();
  place_ = Place::quote_in_quoted;
  return end + 1;
}

void RowReader::append(std::vector<std::string>& fields, std::string_view text) {
  row_bytes_ += text.size();
  if (row_bytes_ > kLongestRecord) {
    fail_input("expected rows of at most 1 GiB, but the one at line {} of {} is longer; is a quote (\") not closed?",
               line_, name());
  }
  fields.back() += text;
}

void RowReader::end_field(std::vector<std::string>& fields) {
  std::string& field = fields.back();
  if (delimiter_ != kTab || field.size() < 2 || field.front() != '"' || field.back() != '"') return;
  field = field.substr(1, field.size() - 2);
  for (std::size_t at = 0; (at = field.find("\"\"", at)) != std::string::npos; ++at) field.erase(at, 1);
}

std::optional<TableLayout> find_table(std::string_view header_line, const std::string& name,
                                      const ReadOptions& options) {
  for (const char delimiter : {kTab, ',', ';'}) {
    const auto columns = split_row(header_line, delimiter);
    const auto sequence = find_column(columns, options.sequence_column, {"sequence", "seq"});
    if (!sequence) continue;
    const auto id = find_column(columns, options.id_column, {"id", "name", "entry", "accession"});
    if (!id && !options.id_column.empty()) {
      fail_input("expected {} to have a column '{}' for the ids; its columns are {}", name, options.id_column,
                 list_columns(columns));
    }
    return TableLayout{delimiter, columns.size(), *sequence, id};
  }
  const char delimiter = header_line.find(kTab) != std::string_view::npos ? kTab : ',';
  const auto columns = split_row(header_line, delimiter);
  if (!options.sequence_column.empty()) {
    fail_input("expected {} to be FASTA or to have a column '{}'; its first line has {}", name, options.sequence_column,
               list_columns(columns));
  }
  if (columns.size() == 1) return std::nullopt;
  fail_input(
      "expected {} to be FASTA or to have a column 'sequence' or 'seq'; its columns are {}. Name the column "
      "that holds "
      "the letters, or put a '>' line before a bare sequence",
      name, list_columns(columns));
}

TableStream::TableStream(LineReader lines, const TableLayout& layout)
    : rows_(std::move(lines), layout.delimiter), layout_(layout) {
  rows_.next(fields_);  // the header
}

bool TableStream::next(Record& record) {
  record.id.clear();
  record.description.clear();
  record.sequence.clear();
  record.error.clear();
  if (!rows_.next(fields_)) return false;
  record.line = rows_.line();
  if (layout_.id && *layout_.id < fields_.size()) {
    std::string& id = fields_[*layout_.id];
    std::replace(id.begin(), id.end(), '\n', ' ');
    record.id = as_utf8(trim(id));
  }
  while (fields_.size() > layout_.columns && fields_.back().empty()) fields_.pop_back();
  if (fields_.size() != layout_.columns) {
    record.error = fmt::format("expected {} columns as in the header, got {}", layout_.columns, fields_.size());
    return true;
  }
  record.sequence.swap(fields_[layout_.sequence]);
  remove_line_breaks(record.sequence);
  return true;
}

}  // namespace biowarp
