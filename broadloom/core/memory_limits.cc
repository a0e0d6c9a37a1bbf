#include "broadloom/core/memory_limits.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "broadloom/core/control_groups.h"

namespace broadloom {
namespace {

// The number in a file of a group's folder; infinite if there is none, as for "max".
double number_in(const std::string& path) {
  double number = 0.0;
  const bool is_number = static_cast<bool>(std::ifstream(path) >> number);
  return is_number && number > 0.0 ? number : std::numeric_limits<double>::infinity();
}

// Version 2 and version 1. The latter gives a number near 2^63 where there is no limit.
double memory_in(const std::string& folder) {
  return std::min(number_in(folder + "/memory.max"), number_in(folder + "/memory.limit_in_bytes"));
}

double resource_limit(int resource) {
  rlimit limit = {};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0.0;
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

std::string MemoryLimit::text() const {
  const auto number = static_cast<double>(bytes);
  return bytes < 1'000'000'000 ? fmt::format("{} {:.1f} MB", owner, number * 1e-6)
                               : fmt::format("{} {:.1f} GB", owner, number * 1e-9);
}

std::vector<MemoryLimit> memory_limits(const MemoryReadings& readings) {
  constexpr double kUnlimited = 4611686018427387904.0;  // 2^62
  std::vector<MemoryLimit> limits;
  const auto add = [&](double bytes, const char* owner, bool is_shared) {
    if (!(bytes > 0.0) || bytes >= kUnlimited) return;
    limits.push_back({static_cast<std::size_t>(bytes), owner, is_shared});
  };
  add(readings.machine, "this machine has", true);
  add(readings.group, "the control group allows", true);
  add(readings.address_space, "ulimit -v allows", false);
  add(readings.data, "ulimit -d allows", false);
  std::stable_sort(limits.begin(), limits.end(),
                   [](const MemoryLimit& a, const MemoryLimit& b) { return a.bytes < b.bytes; });
  return limits;
}

std::vector<MemoryLimit> memory_limits() {
  MemoryReadings readings;
  readings.machine = static_cast<double>(machine_memory());
  readings.group = smallest_limit(memory_in);
  readings.address_space = resource_limit(RLIMIT_AS);
  readings.data = resource_limit(RLIMIT_DATA);
  return memory_limits(readings);
}

std::size_t machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return 0;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
}

std::size_t available_memory() {
  const std::vector<MemoryLimit> limits = memory_limits();
  return limits.empty() ? 0 : limits.front().bytes;
}

double group_memory(const std::string& control_groups, const std::string& mounts) {
  return smallest_limit(control_groups, mounts, memory_in);
}

}  // namespace broadloom
