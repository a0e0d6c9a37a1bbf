// The checkpoint and the instruction set with which commands play a policy.
#pragma once

#include <string>

#include "broadloom/core/status.h"

namespace broadloom::cli {

// With `best`, replaces the run's folder by its best.safetensors. kNotFound if there is none,
// kInvalidConfig for a file.
Status use_best(bool best, std::string& run_or_checkpoint);

// Sets the instruction set that the run asked for. Errors: no such run, or this CPU lacks it.
Status use_isa_of_policy(const std::string& run_or_checkpoint);

}  // namespace broadloom::cli
