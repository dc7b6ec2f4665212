// fuzz_inputs CORPUS [--seconds S] [--target NAME] [--mutation N]
// fuzz_inputs --replay TARGET FILE...
// fuzz_inputs --list
//
// Runs every target on each file of CORPUS/<target>/ and then on mutations 0, 1, 2, ... of them for S seconds
// (default 5). What fails is named by target and mutation number, which --target and --mutation repeat; the
// bytes are left in
// ./fuzz_failure.bin. Ends with 1 on a failure. For coverage-guided runs see coverage.cpp.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "mutate.h"
#include "targets.h"

// Present when a sanitizer is linked in.
extern "C" void __sanitizer_set_death_callback(void (*)()) __attribute__((weak));

namespace biowarp::fuzz {
namespace {

namespace fs = std::filesystem;

// What runs now, for whoever reports its death.
std::string current_name;
std::string current_input;

void report_death() {
  std::fprintf(stderr, "\nfuzz_inputs: %s failed; its input is in fuzz_failure.bin\n", current_name.c_str());
  if (std::FILE* file = std::fopen("fuzz_failure.bin", "wb")) {
    std::fwrite(current_input.data(), 1, current_input.size(), file);
    std::fclose(file);
  }
}

void on_signal(int number) {
  report_death();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void watch_for_death() {
  if (__sanitizer_set_death_callback) {
    __sanitizer_set_death_callback(report_death);
    return;
  }
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(number, on_signal);
  const rlimit limit{std::size_t{3} << 30, std::size_t{3} << 30};  // sanitizers need more address space than this
  setrlimit(RLIMIT_AS, &limit);
}

// False, with a report, when anything but biowarp::Error escapes.
bool survives(const Target& target, const std::string& name, std::string input) {
  current_name = std::string(target.name) + ", " + name;
  current_input = std::move(input);
  try {
    run_target(target, std::as_bytes(std::span(current_input)));
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exception: %s", error.what());
    report_death();
    return false;
  }
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::is_directory(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Arguments {
  std::string corpus;
  double seconds = 5;
  std::string target;
  std::optional<std::uint64_t> mutation;
};

bool fuzz(const Target& target, const Arguments& arguments) {
  std::vector<std::string> corpus;
  bool good = true;
  for (const fs::path& path : files_of(fs::path(arguments.corpus) / target.name)) {
    corpus.push_back(read_file(path));
    good = survives(target, path.filename().string(), corpus.back()) && good;
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "no corpus in %s/%s\n", arguments.corpus.c_str(), std::string(target.name).c_str());
    return false;
  }
  const auto name_of = [](std::uint64_t number) { return "mutation " + std::to_string(number); };
  if (arguments.mutation) {
    return survives(target, name_of(*arguments.mutation), mutate(corpus, *arguments.mutation)) && good;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(arguments.seconds);
  std::uint64_t number = 0;
  for (; good && std::chrono::steady_clock::now() < end; ++number) {
    good = survives(target, name_of(number), mutate(corpus, number));
  }
  std::printf("%-12s %zu files, %llu mutations: %s\n", std::string(target.name).c_str(), corpus.size(),
              static_cast<unsigned long long>(number), good ? "ok" : "FAILED");
  return good;
}

int replay(const std::vector<std::string>& words) {
  const Target* target = words.size() < 2 ? nullptr : find_target(words[1]);
  if (!target) return 2;
  bool good = true;
  for (std::size_t i = 2; i < words.size(); ++i) good = survives(*target, words[i], read_file(words[i])) && good;
  return good ? 0 : 1;
}

int list() {
  for (const Target& target : targets()) std::printf("%s\n", std::string(target.name).c_str());
  return 0;
}

std::optional<Arguments> parse(const std::vector<std::string>& words) {
  if (words.empty() || words.size() % 2 == 0) return std::nullopt;
  Arguments arguments;
  arguments.corpus = words[0];
  for (std::size_t i = 1; i < words.size(); i += 2) {
    if (words[i] == "--seconds") {
      arguments.seconds = std::atof(words[i + 1].c_str());
    } else if (words[i] == "--target" && find_target(words[i + 1])) {
      arguments.target = words[i + 1];
    } else if (words[i] == "--mutation") {
      arguments.mutation = std::strtoull(words[i + 1].c_str(), nullptr, 10);
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

int run(const std::vector<std::string>& words) {
  watch_for_death();
  if (!words.empty() && words[0] == "--list") return list();
  if (!words.empty() && words[0] == "--replay") return replay(words);
  const auto arguments = parse(words);
  if (!arguments) {
    std::fprintf(stderr, "usage: fuzz_inputs CORPUS [--seconds S] [--target NAME] [--mutation N]\n");
    return 2;
  }
  bool good = true;
  for (const Target& target : targets()) {
    if (arguments->target.empty() || arguments->target == target.name) good = fuzz(target, *arguments) && good;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace biowarp::fuzz

int main(int count, char** words) { return biowarp::fuzz::run({words + 1, words + count}); }
