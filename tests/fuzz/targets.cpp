#include "targets.h"

#include <algorithm>

#include "biowarp/error.h"

namespace biowarp::fuzz {

std::span<const Target> targets() {
  static constexpr Target kTargets[] = {
      {"fasta", fuzz_fasta},   {"letters", fuzz_letters},         {"packed", fuzz_packed}, {"table", fuzz_table},
      {"config", fuzz_config}, {"safetensors", fuzz_safetensors}, {"torch", fuzz_torch},
  };
  return kTargets;
}

const Target* find_target(std::string_view name) {
  const auto all = targets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Target& target) { return target.name == name; });
  return found == all.end() ? nullptr : &*found;
}

void run_target(const Target& target, Bytes bytes) {
  try {
    target.run(bytes);
  } catch (const Error&) {
  }
}

}  // namespace biowarp::fuzz
