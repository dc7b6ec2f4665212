#include "base/environment.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

namespace biowarp {
namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!in || !std::getline(in, line)) return std::nullopt;
  return line;
}

// Folders of this process's cgroup from the innermost to the root, for a v1 controller or, with "", for v2.
std::vector<std::string> cgroup_folders(const std::string& controller) {
  std::vector<std::string> folders;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const bool matches =
        controller.empty() ? names.empty() : ("," + names + ",").find("," + controller + ",") != std::string::npos;
    if (!matches) continue;
    const std::string root = controller.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controller;
    std::string path = line.substr(second + 1);
    while (!path.empty()) {
      folders.push_back(root + (path == "/" ? "" : path));
      if (path == "/") break;
      const auto slash = path.rfind('/');
      path = slash == 0 ? "/" : path.substr(0, slash);
    }
  }
  return folders;
}

double quota_v2(const std::string& folder) {
  const auto line = first_line(folder + "/cpu.max");
  if (!line || line->rfind("max", 0) == 0) return std::numeric_limits<double>::infinity();
  std::istringstream words(*line);
  double quota = 0, period = 0;
  if (!(words >> quota >> period) || period <= 0) return std::numeric_limits<double>::infinity();
  return quota / period;
}

double quota_v1(const std::string& folder) {
  const auto quota = first_line(folder + "/cpu.cfs_quota_us");
  const auto period = first_line(folder + "/cpu.cfs_period_us");
  if (!quota || !period) return std::numeric_limits<double>::infinity();
  const double q = std::atof(quota->c_str()), p = std::atof(period->c_str());
  return q > 0 && p > 0 ? q / p : std::numeric_limits<double>::infinity();
}

double cpu_quota() {
  double quota = std::numeric_limits<double>::infinity();
  for (const auto& folder : cgroup_folders("")) quota = std::min(quota, quota_v2(folder));
  for (const auto& folder : cgroup_folders("cpu")) quota = std::min(quota, quota_v1(folder));
  return quota;
}

std::int64_t bytes_in(const std::string& path) {
  const auto line = first_line(path);
  if (!line || *line == "max") return std::numeric_limits<std::int64_t>::max();
  return std::strtoll(line->c_str(), nullptr, 10);
}

// Limit minus use of the tightest enclosing cgroup.
std::int64_t cgroup_headroom() {
  std::int64_t headroom = std::numeric_limits<std::int64_t>::max();
  const auto consider = [&](const std::string& limit_file, const std::string& used_file) {
    const std::int64_t limit = bytes_in(limit_file), used = bytes_in(used_file);
    constexpr std::int64_t unlimited = std::int64_t{1} << 60;
    if (limit < unlimited && used < unlimited) headroom = std::min(headroom, std::max<std::int64_t>(0, limit - used));
  };
  for (const auto& folder : cgroup_folders("")) consider(folder + "/memory.max", folder + "/memory.current");
  for (const auto& folder : cgroup_folders("memory")) {
    consider(folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes");
  }
  return headroom;
}

std::int64_t meminfo_available() {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("MemAvailable:", 0) == 0) return std::strtoll(line.c_str() + 13, nullptr, 10) * 1024;
  }
  return std::numeric_limits<std::int64_t>::max();
}

}  // namespace

std::string environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int mask = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  const double quota = cpu_quota();
  const int by_quota = std::isinf(quota) ? mask : static_cast<int>(std::ceil(quota));
  return std::max(1, std::min(mask, by_quota));
}

std::int64_t available_memory() { return std::min(meminfo_available(), cgroup_headroom()); }

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace biowarp
