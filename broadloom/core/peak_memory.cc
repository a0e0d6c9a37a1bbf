#include "broadloom/core/peak_memory.h"

#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace broadloom {

// Reads VmHWM, because ru_maxrss starts on Linux at the memory of the parent process.
std::int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return 1024 * std::strtoll(line.c_str() + 6, nullptr, 10);
  }
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? std::int64_t{usage.ru_maxrss} * 1024 : 0;
}

}  // namespace broadloom
