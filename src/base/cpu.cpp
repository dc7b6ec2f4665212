#include "base/cpu.h"

#include <array>
#include <fstream>

#include "base/environment.h"
#include "base/fail.h"

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace biowarp {
namespace {

constexpr std::array kLevels{"avx2", "avx512", "avx512_bf16", "amx"};

// Position of BIOWARP_MAX_ISA in kLevels; the last when unset.
std::size_t level_cap() {
  const std::string cap = environment("BIOWARP_MAX_ISA", kLevels.back());
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (cap == kLevels[i]) return i;
  }
  fail_usage("expected BIOWARP_MAX_ISA to be avx2, avx512, avx512_bf16 or amx, got '{}'", cap);
}

#if defined(__x86_64__)
// Linux hands out the AMX tile state on request only (arch_prctl ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA).
bool request_amx() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// CPUID leaf 7: EDX bit 22 amx-bf16, 24 amx-tile, 25 amx-int8.
unsigned amx_bits() {
  unsigned eax = 7, ebx = 0, ecx = 0, edx = 0;
  __asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
  return edx;
}

CpuFeatures detect() {
  __builtin_cpu_init();
  CpuFeatures found;
  const std::size_t cap = level_cap();
  found.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  found.avx512 = cap >= 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  found.avx512_vnni = cap >= 1 && found.avx512 && __builtin_cpu_supports("avx512vnni");
  found.avx512_bf16 = cap >= 2 && found.avx512 && __builtin_cpu_supports("avx512bf16");
  if (cap >= 3 && found.avx512_bf16 && (amx_bits() >> 24 & 1) && request_amx()) {
    found.amx_bf16 = amx_bits() >> 22 & 1;
    found.amx_int8 = amx_bits() >> 25 & 1;
  }
  return found;
}
#else
CpuFeatures detect() {
  level_cap();
  return {};
}
#endif

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const auto colon = line.find(':');
    return colon == std::string::npos ? "unknown" : line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

std::string describe_cpu() {
  const CpuFeatures& cpu = cpu_features();
  const char* level = cpu.amx_bf16      ? "amx"
                      : cpu.avx512_bf16 ? "avx512_bf16"
                      : cpu.avx512      ? "avx512"
                      : cpu.avx2        ? "avx2"
                                        : "baseline";
  return fmt::format("{} ({})", level, processor_name());
}

}  // namespace biowarp
