// The program `biowarp`: finds the command, parses its options, runs it, and turns what went wrong into a
// message on stderr and an exit code (biowarp/error.h; 5: some records were skipped).
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "biowarp/error.h"
#include "biowarp/version.h"
#include "command.h"
#include "help.h"

Command bench_command();
Command completion_command();
Command contacts_command();
Command convert_command();
Command embed_command();
Command extract_command();
Command info_command();
Command perplexity_command();
Command pull_command();

const std::vector<CommandRow>& command_rows() {
  static const std::vector<CommandRow> rows{
      {"Sequences to results", embed_command()},
      {"Sequences to results", contacts_command()},
      {"Sequences to results", perplexity_command()},
      {"Sequences to results", extract_command()},
      {"Models", pull_command()},
      {"Models", info_command()},
      {"Models", convert_command()},
      {"This machine", bench_command()},
      {"This machine", completion_command()},
  };
  return rows;
}

namespace {

using biowarp::Error;
using biowarp::ErrorKind;

int report(const std::string& message, ErrorKind kind) {
  std::fflush(stdout);
  fmt::print(stderr, "biowarp: error: {}\n", message);
  return biowarp::exit_code(kind);
}

const Command* find_command(std::string_view name) {
  for (const CommandRow& row : command_rows()) {
    if (name == row.command.name) return &row.command;
  }
  return nullptr;
}

int unknown_command(const std::string& typed) {
  const std::string nearest = nearest_command(typed);
  const std::string hint =
      nearest.empty() ? "`biowarp --help` lists the commands" : fmt::format("did you mean '{}'?", nearest);
  return report(fmt::format("'{}' is not a command: {}", typed, hint), ErrorKind::usage);
}

// argv[0] is the command's name.
int run_command(const Command& command, int argc, char** argv) {
  CLI::App app;
  set_up_help(app, command);
  const std::function<int()> body = command.declare(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    return report(fmt::format("{} (`biowarp {} --help` lists the options)", error.what(), command.name),
                  ErrorKind::usage);
  }
  return body();
}

int dispatch(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "{}", program_help());
    return biowarp::exit_code(ErrorKind::usage);
  }
  const std::string first = argv[1];
  if (first == "--help" || first == "-h" || (first == "help" && argc == 2)) {
    fmt::print("{}", program_help());
    return 0;
  }
  if (first == "--version") {
    fmt::print("biowarp {}\n", biowarp::kVersion);
    return 0;
  }
  const bool asks_help = first == "help";
  const std::string name = asks_help ? argv[2] : first;
  if (name.starts_with("-")) return report(fmt::format("expected a command before '{}'", name), ErrorKind::usage);
  const Command* command = find_command(name);
  if (!command) return unknown_command(name);
  if (!asks_help) return run_command(*command, argc - 1, argv + 1);
  std::string help = "--help";
  char* arguments[] = {argv[2], help.data(), nullptr};
  return run_command(*command, 2, arguments);
}

int dispatch_guarded(int argc, char** argv) {
  try {
    const int code = dispatch(argc, argv);
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
    return report(fmt::format("cannot write to standard output: {}", std::strerror(errno)), ErrorKind::input);
  } catch (const Error& error) {
    return report(error.what(), error.kind());
  } catch (const std::bad_alloc&) {
    return report("out of memory; a smaller --tokens, fewer --threads or a smaller model needs less",
                  ErrorKind::device);
  } catch (const std::exception& error) {
    return report(fmt::format("{} (a defect of biowarp; please report it with the command line)", error.what()),
                  ErrorKind::internal);
  }
}

// Ends a progress line before the default action ends the process; what was begun stays for --resume.
void on_interrupt(int signal) {
  static constexpr char kText[] = "\nbiowarp: interrupted\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  std::signal(SIGPIPE, SIG_DFL);  // `biowarp ... | head` ends quietly even when a parent ignored the signal
  return dispatch_guarded(argc, argv);
}
