// The instruction set to play a policy with.
#pragma once

#include <string>

#include "broadloom/core/status.h"

namespace broadloom::cli {

// Sets the instruction set that the run asked for. Errors: no such run, or this CPU lacks it.
Status use_isa_of_policy(const std::string& run_or_checkpoint);

}  // namespace broadloom::cli
