// How much of the machine this process may use.
#pragma once

#include <string>

namespace broadloom {

// The number of cores worth starting threads for, at least 1: those that the process may run on,
// and no more than its control group's quota of processor time, rounded up. Linux; elsewhere what
// the standard library says.
int available_cores();

// The smallest quota of processor time, in cores, among the control group of a process and those
// above it; infinite where none is set. `control_groups` is what /proc/self/cgroup says, `mounts`
// the folder that groups are in (/sys/fs/cgroup). Versions 1 and 2.
double quota_cores(const std::string& control_groups, const std::string& mounts);

}  // namespace broadloom
