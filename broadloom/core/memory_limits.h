// Limits on the memory of this process:
//
//   const std::vector<MemoryLimit> limits = memory_limits();
//   if (!limits.empty() && needed > limits.front().bytes) { ... limits.front().text() ... }
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace broadloom {

struct MemoryLimit {
  std::size_t bytes = 0;
  const char* owner = "";    // "ulimit -v allows"
  bool is_shared = false;    // by all processes of the machine, or of a control group
  std::string text() const;  // "ulimit -v allows 512.0 MB"
};

// Readings of the system, in bytes; 0 or infinite: no limit, or unknown.
struct MemoryReadings {
  double machine = 0.0;
  double group = 0.0;          // of the control groups
  double address_space = 0.0;  // ulimit -v
  double data = 0.0;           // ulimit -d
};

// The limits that are set, the smallest first.
std::vector<MemoryLimit> memory_limits(const MemoryReadings& readings);
std::vector<MemoryLimit> memory_limits();  // of this process

// The memory of this machine, in bytes; 0 if unknown.
std::size_t machine_memory();

// The smallest limit in bytes; 0 if none is known.
std::size_t available_memory();

// The smallest memory limit of control groups, in bytes; infinite if none is set. Arguments as in
// smallest_limit().
double group_memory(const std::string& control_groups, const std::string& mounts);

}  // namespace broadloom
