// Memory limits and machine keys of a run.
#pragma once

#include <string_view>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/memory_limits.h"
#include "broadloom/core/status.h"
#include "broadloom/setup/memory_plan.h"

namespace broadloom {

// kInvalidConfig if the run needs more memory than memory_limit, or if that many processes of it
// need more than a limit of the system allows.
Status check_memory(const Config& config, const MemoryPlan& plan, int processes = 1,
                    const std::vector<MemoryLimit>& limits = memory_limits());

// Whether a resume may change this key: keys of Role::kMachine, except `isa`, which changes bits.
bool is_machine_key(std::string_view key);

// Sets machine keys of a run. kInvalidConfig for other keys and for bad values.
Status set_machine(Config& config, const Overrides& keys);

}  // namespace broadloom
