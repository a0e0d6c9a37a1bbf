// Times a fresh process of this program up to the end of its first training iteration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom::cli {

struct FirstStep {
  double seconds = 0.0;                // from starting the process to its exit
  std::int64_t peak_memory_bytes = 0;  // of the process
};

// Starts `program first-step arguments...` and waits for it. kIo if it cannot be started or fails;
// its own error goes to standard error.
Result<FirstStep> run_first_step(const std::string& program,
                                 const std::vector<std::string>& arguments);

}  // namespace broadloom::cli
