// Fuzz targets: what reads bytes that biowarp did not write.
//
// A target takes any bytes. Only biowarp::Error may leave the code it calls (run_target accepts that and
// nothing else); a crash, a leak, another exception or unbounded memory is a defect.
//
// To add one: write fuzz_<name>.cpp, declare its function here, add its row in targets.cpp, and put a few
// small valid and broken files into corpus/<name>/.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace biowarp::fuzz {

using Bytes = std::span<const std::byte>;

void fuzz_fasta(Bytes bytes);
void fuzz_letters(Bytes bytes);
void fuzz_packed(Bytes bytes);
void fuzz_table(Bytes bytes);
void fuzz_config(Bytes bytes);
void fuzz_safetensors(Bytes bytes);
void fuzz_torch(Bytes bytes);

struct Target {
  std::string_view name;
  void (*run)(Bytes);
};
std::span<const Target> targets();

// Null when there is no such target.
const Target* find_target(std::string_view name);

// Calls the target; biowarp::Error is a good end, every other exception passes.
void run_target(const Target& target, Bytes bytes);

inline std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace biowarp::fuzz
