// How many threads are worth starting:
//
//   auto trainer = Trainer::create(config, available_cores());
#pragma once

#include <string>

namespace broadloom {

// The number of cores that this process may use, at least 1. On Linux: those that it may run on,
// and no more than its control group's quota of processor time, rounded up (a container's limit).
// Elsewhere: std::thread::hardware_concurrency(). Reads a few files of /proc and /sys each time.
int available_cores();

// The smallest quota of processor time, in cores, among the control group of a process and those
// above it; infinite where none is set. `control_groups` is what /proc/self/cgroup says, `mounts`
// the folder that groups are in (/sys/fs/cgroup). Versions 1 and 2.
double quota_cores(const std::string& control_groups, const std::string& mounts);

}  // namespace broadloom
