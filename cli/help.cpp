#include "help.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <sstream>

#include "biowarp/version.h"

namespace {

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kOptionColumn = 30;

// Breaks `text` at blanks so that no line passes kLineWidth; lines after the first start at column `indent`.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > kLineWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

// CLI11's layout with wrapped descriptions.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kOptionColumn); }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string name = make_option_name(option, is_positional);
    name = name.substr(0, name.find('{'));  // "--no-ops{false}"
    std::string left = "  " + name + make_option_opts(option);
    const std::string description = wrapped(make_option_desc(option), kOptionColumn);
    if (left.size() + 2 > kOptionColumn) {
      left += "\n" + std::string(kOptionColumn, ' ');
    } else {
      left.resize(kOptionColumn, ' ');
    }
    return left + description + "\n";
  }

  // " NAME", " NAME ..." and nothing else: defaults and bounds stand in the descriptions.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0 || option->nonpositional() == false) return "";
    const std::string type = option->get_type_name();  // with its bounds: "N:POSITIVE"
    std::string text = " " + type.substr(0, type.find(':'));
    if (option->get_expected_max() > 1 && !text.ends_with("...")) text += " ...";
    return text;
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, name, mode);
    for (auto at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n")) text.erase(at, 1);
    return text;
  }

  std::string make_description(const CLI::App* app) const override { return app->get_description() + "\n\n"; }
};

// Levenshtein distance: insertions, deletions and replacements that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string indented_lines(const char* text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += "  " + line + "\n";
  return out;
}

}  // namespace

std::string program_help() {
  std::string text = fmt::format(
      "biowarp {}: ESM-2 protein language models, fast on the CPU\n\n"
      "Usage: biowarp COMMAND [OPTIONS]\n",
      biowarp::kVersion);
  std::string_view group;
  for (const CommandRow& row : command_rows()) {
    if (row.group != group) text += fmt::format("\n{}:\n", row.group);
    group = row.group;
    text += fmt::format("  {:<12} {}\n", row.command.name, row.command.summary);
  }
  text +=
      "\nOptions:\n"
      "  -h, --help   this text; `biowarp COMMAND --help` explains a command\n"
      "  --version    version of the program\n"
      "\n"
      "Exit codes: 0 every record has its result, 5 some records were skipped, 2 usage, 3 bad input,\n"
      "4 device or memory, 1 a defect of biowarp.\n";
  return text;
}

void set_up_help(CLI::App& app, const Command& command) {
  app.name(std::string("biowarp ") + command.name);
  app.description(command.summary);
  app.formatter(std::make_shared<HelpFormatter>());
  app.get_formatter()->label("Positionals", "Arguments");
  app.set_help_flag("-h,--help", "Print this text");
  app.footer("Examples:\n" + indented_lines(command.examples));
}

std::string nearest_command(std::string_view typed) {
  std::string best;
  std::size_t best_distance = 3;  // farther words are other words
  for (const CommandRow& row : command_rows()) {
    const std::string_view name = row.command.name;
    const bool is_start = typed.size() >= 2 && name.substr(0, typed.size()) == typed;
    const std::size_t distance = is_start ? 0 : edit_distance(typed, name);
    if (distance >= std::min(best_distance, name.size())) continue;
    best_distance = distance;
    best = name;
  }
  return best;
}
