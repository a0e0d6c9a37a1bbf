// What `broadloom train` shows of the audit.
#pragma once

#include <string>

namespace broadloom::cli {

// Where the instrument "audit" was on: what it warns of, as `broadloom audit` prints it. Nothing
// otherwise. allow: the flags with which another command may load the run's environment.
void print_live_audit(const std::string& run_dir, const std::string& allow);

}  // namespace broadloom::cli
