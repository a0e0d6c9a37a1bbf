// The audit in the summary of `broadloom train`.
#pragma once

#include <string>

namespace broadloom::cli {

// Prints the warnings of the instrument "audit", as `broadloom audit` does; nothing if it was off.
// allow: flags with which another command may load the run's environment.
void print_live_audit(const std::string& run_dir, const std::string& allow);

}  // namespace broadloom::cli
