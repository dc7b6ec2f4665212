// `biowarp completion bash|zsh`: a script that completes commands and their options.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "command.h"

namespace {

// All "--long" and "-s" names of a command, separated by blanks.
std::string option_names(const Command& command) {
  CLI::App app;
  app.set_help_flag("-h,--help", "");
  command.declare(app);
  std::string names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names += " --" + name;
    for (const std::string& name : option->get_snames()) names += " -" + name;
  }
  return names.empty() ? names : names.substr(1);
}

std::string bash_script() {
  std::string names, cases;
  for (const CommandRow& row : command_rows()) {
    names += std::string(names.empty() ? "" : " ") + row.command.name;
    cases += fmt::format("    {}) words=\"{}\" ;;\n", row.command.name, option_names(row.command));
  }
  return fmt::format(R"(_biowarp() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{}  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
  esac
}}
complete -o default -o bashdefault -F _biowarp biowarp
)",
                     names, cases);
}

std::function<int()> declare(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  return [shell] {
    if (*shell == "zsh") fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
    fmt::print("{}", bash_script());
    return 0;
  };
}

}  // namespace

Command completion_command() {
  return {"completion", "print a script that completes command lines in bash or zsh",
          "source <(biowarp completion bash)\n"
          "biowarp completion bash > /etc/bash_completion.d/biowarp",
          declare};
}
