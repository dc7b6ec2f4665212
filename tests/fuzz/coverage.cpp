// The targets under libFuzzer: BIOWARP_FUZZ_TARGET=<name> fuzz_coverage [libFuzzer options] corpus/<name>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "targets.h"

namespace {

const biowarp::fuzz::Target* target = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* name = std::getenv("BIOWARP_FUZZ_TARGET");
  target = name ? biowarp::fuzz::find_target(name) : nullptr;
  if (target) return 0;
  std::fprintf(stderr, "set BIOWARP_FUZZ_TARGET to a name that fuzz_inputs --list prints\n");
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  biowarp::fuzz::run_target(*target, std::as_bytes(std::span(data, size)));
  return 0;
}
