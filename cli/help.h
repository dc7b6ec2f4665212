// Help texts of the program and of its commands.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "command.h"

// `biowarp --help`: what the program is and its commands by group.
std::string program_help();

// Names and lays out the help of one command: usage, summary, options by group, examples.
void set_up_help(CLI::App& app, const Command& command);

// The command that was most likely meant; empty when none is near.
std::string nearest_command(std::string_view typed);
