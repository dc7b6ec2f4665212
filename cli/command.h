// A command of the program: one file cmd_<name>.cpp and one row in main.cpp.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <vector>

struct Command {
  const char* name;
  const char* summary;   // one line for `biowarp --help`
  const char* examples;  // two or three command lines, shown under the command's own --help
  // Declares options on `app`. The returned function runs after parsing; its result is the exit code of the
  // process. It reports problems by throwing biowarp::Error, never by exiting.
  std::function<int()> (*declare)(CLI::App& app);
};

// A command and the heading under which `biowarp --help` lists it.
struct CommandRow {
  const char* group;
  Command command;
};

// All commands in the order of `biowarp --help`.
const std::vector<CommandRow>& command_rows();

// Exit code of a job some of whose records were skipped.
constexpr int kExitSkippedRecords = 5;
