#include "broadloom/core/available_cores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace broadloom {
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

double cores_of(double quota, double period) {
  return quota > 0.0 && period > 0.0 ? quota / period : kNoQuota;
}

// Version 2: "150000 100000", or "max 100000".
double quota_in(const std::string& folder) {
  double quota = 0.0;
  double period = 0.0;
  if (std::ifstream(folder + "/cpu.max") >> quota >> period) return cores_of(quota, period);
  // Version 1: one file for each number; the quota is -1 if there is none.
  if (std::ifstream(folder + "/cpu.cfs_quota_us") >> quota &&
      std::ifstream(folder + "/cpu.cfs_period_us") >> period) {
    return cores_of(quota, period);
  }
  return kNoQuota;
}

// Smallest quota of a group and of all groups above it. In a container, a group's path may be the
// path outside of it. Missing folders set no quota, and the mount itself is the container's group.
double smallest_quota(const std::string& mount, std::string group) {
  double cores = quota_in(mount);
  while (group.size() > 1) {
    cores = std::min(cores, quota_in(mount + group));
    group.resize(group.rfind('/'));
  }
  return cores;
}

int allowed_cores() {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return CPU_COUNT(&allowed);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

// A line is "0::/group" in version 2, "4:cpu,cpuacct:/group" in version 1.
double quota_cores(const std::string& control_groups, const std::string& mounts) {
  double cores = kNoQuota;
  std::istringstream lines(control_groups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string group = line.substr(second + 1);
    // In version 1, the folder is named after its controllers; single names may be links to it.
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string folder = controllers.empty() ? mounts : mounts + '/' + controllers;
    if (!group.empty() && group[0] == '/') cores = std::min(cores, smallest_quota(folder, group));
  }
  return cores;
}

int available_cores() {
  const double quota = quota_cores(contents("/proc/self/cgroup"), "/sys/fs/cgroup");
  const int most = std::max(1, allowed_cores());
  return std::isfinite(quota) ? std::clamp(static_cast<int>(std::ceil(quota)), 1, most) : most;
}

}  // namespace broadloom
