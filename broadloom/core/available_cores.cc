#include "broadloom/core/available_cores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

#include "broadloom/core/control_groups.h"

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

int allowed_cores() {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return CPU_COUNT(&allowed);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

double quota_cores(const std::string& control_groups, const std::string& mounts) {
  return smallest_limit(control_groups, mounts, quota_in);
}

int available_cores() {
  const double quota = smallest_limit(quota_in);
  const int most = std::max(1, allowed_cores());
  return std::isfinite(quota) ? std::clamp(static_cast<int>(std::ceil(quota)), 1, most) : most;
}

}  // namespace broadloom
