// A command of the program: one file cmd_<name>.cpp and one row in main.cpp.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

struct Command {
  const char* name;
  const char* summary;   // one line for `biowarp --help`
  const char* examples;  // two or three command lines, shown under the command's own --help
  // Declares options on `app`. The returned function runs after parsing; its result is the exit code of the process.
  // It reports problems by throwing biowarp::Error, never by exiting.
  std::function<int()> (*declare)(CLI::App& app);
};
