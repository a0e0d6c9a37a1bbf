// The instruction set that a policy is played with.
#pragma once

#include <string>

#include "broadloom/core/status.h"

namespace broadloom::cli {

// Takes what the run asked for, as far as this processor has it. Errors: those of what plays it.
Status use_isa_of_policy(const std::string& run_or_checkpoint);

}  // namespace broadloom::cli
