// Limits of control groups (Linux), as in containers. Reads versions 1 and 2.
#pragma once

#include <string>

namespace broadloom {

// Reads the limit that a group's folder sets; infinite if it sets none.
using ReadLimit = double (*)(const std::string& folder);

// The smallest limit of a process's control group and the groups above it; infinite if none is set.
// control_groups: text of /proc/self/cgroup. mounts: folder of the groups (/sys/fs/cgroup).
double smallest_limit(const std::string& control_groups, const std::string& mounts,
                      ReadLimit read_limit);

// The same for this process. Each call reads a few files of /proc and /sys.
double smallest_limit(ReadLimit read_limit);

}  // namespace broadloom
