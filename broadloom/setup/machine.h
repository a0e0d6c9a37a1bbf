// What a run asks of the machine.
#pragma once

#include <string_view>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/setup/memory_plan.h"

namespace broadloom {

// kInvalidConfig where the run takes more memory than memory_limit allows, or where so many
// processes of it on this machine take more than there is.
Status check_memory(const Config& config, const MemoryPlan& plan, int processes = 1);

// Whether a run may go on with another value of this key: those of Role::kMachine but `isa`, on
// which bits depend.
bool is_machines_own(std::string_view key);

// Such keys in the place of a run's own. kInvalidConfig for others, and for values that are none.
Status set_machine(Config& config, const Overrides& keys);

}  // namespace broadloom
