// The number of threads worth starting:
//
//   auto trainer = Trainer::create(config, available_cores());
#pragma once

#include <string>

namespace broadloom {

// The number of cores that this process may use, at least 1.
//
// On Linux, the cores in its affinity mask, limited by its control group's CPU quota, rounded up. A
// container's limit is such a quota. On other systems, std::thread::hardware_concurrency(). Each
// call reads a few files of /proc and /sys.
int available_cores();

// The smallest CPU quota, in cores, of a process's control group and the groups above it; infinite
// if none is set. control_groups: text of /proc/self/cgroup. mounts: folder of the groups
// (/sys/fs/cgroup). Reads versions 1 and 2.
double quota_cores(const std::string& control_groups, const std::string& mounts);

}  // namespace broadloom
