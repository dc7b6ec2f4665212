#include "io/record_stream.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "io/fasta.h"
#include "io/header_text.h"
#include "io/line_reader.h"
#include "io/table.h"

namespace biowarp {
namespace {

// First line that is not blank, within what can be looked at; empty when there is none.
std::string_view first_line(std::string_view start) {
  const std::size_t first = start.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  const std::size_t line_break = start.substr(0, first).find_last_of("\r\n");
  start.remove_prefix(line_break == std::string_view::npos ? 0 : line_break + 1);
  return start.substr(0, start.find_first_of("\r\n"));
}

}  // namespace

std::unique_ptr<RecordStream> open_records(std::unique_ptr<ByteStream> bytes, const std::string& name,
                                           const ReadOptions& options) {
  LineReader lines(std::move(bytes), name);
  const std::string_view line = first_line(lines.peek());
  const char first = line.empty() ? '>' : trim(line)[0];
  if (first != '>' && first != ';') {
    if (line.find('\0') != std::string_view::npos) fail_input("expected {} to be FASTA, CSV or TSV text", name);
    if (const auto layout = find_table(line, name, options)) {
      return std::make_unique<TableStream>(std::move(lines), *layout);
    }
  }
  return std::make_unique<FastaStream>(std::move(lines));
}

}  // namespace biowarp
