#include "broadloom/core/control_groups.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

namespace broadloom {
namespace {

// Smallest limit of a group and of all groups above it. In a container, a group's path may be the
// path outside of it. Missing folders set no limit, and the mount itself is the container's group.
double smallest_above(const std::string& mount, std::string group, ReadLimit read_limit) {
  double limit = read_limit(mount);
  while (group.size() > 1) {
    limit = std::min(limit, read_limit(mount + group));
    group.resize(group.rfind('/'));
  }
  return limit;
}

}  // namespace

// A line is "0::/group" in version 2, "4:cpu,cpuacct:/group" in version 1.
double smallest_limit(const std::string& control_groups, const std::string& mounts,
                      ReadLimit read_limit) {
  double limit = std::numeric_limits<double>::infinity();
  std::istringstream lines(control_groups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string group = line.substr(second + 1);
    // In version 1, the folder is named after its controllers; single names may be links to it.
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string folder = controllers.empty() ? mounts : mounts + '/' + controllers;
    if (!group.empty() && group[0] == '/') {
      limit = std::min(limit, smallest_above(folder, group, read_limit));
    }
  }
  return limit;
}

double smallest_limit(ReadLimit read_limit) {
  std::ostringstream groups;
  groups << std::ifstream("/proc/self/cgroup").rdbuf();
  return smallest_limit(groups.str(), "/sys/fs/cgroup", read_limit);
}

}  // namespace broadloom
