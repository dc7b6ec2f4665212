// What the process finds around it: environment variables, processors it may use, memory.
#pragma once

#include <cstdint>
#include <string>

namespace biowarp {

// Value of a variable, or `otherwise` when it is unset or empty.
std::string environment(const char* name, const std::string& otherwise = "");

// Processors this process may use: the affinity mask, cut by the cgroup's CPU quota (v2 and v1), at least 1.
int usable_processors();

// Bytes of memory that can be had without swapping: MemAvailable, cut by the cgroup's limit.
std::int64_t available_memory();

// Largest resident size of this process so far, in bytes.
std::int64_t peak_resident_bytes();

}  // namespace biowarp
