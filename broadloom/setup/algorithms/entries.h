// The entries of the library's own algorithms, one file each.
#pragma once

#include <optional>

#include "broadloom/config/config.h"
#include "broadloom/config/schedule.h"
#include "broadloom/setup/algorithms.h"

namespace broadloom {

AlgorithmEntry ppo_entry();
AlgorithmEntry pqn_entry();
AlgorithmEntry ppo_rnd_entry();
AlgorithmEntry distill_entry();

// All of them, in the order in which help lists them.
inline constexpr AlgorithmEntry (*kEntries[])() = {ppo_entry, pqn_entry, ppo_rnd_entry,
                                                   distill_entry};

// Describes a scheduled value if it falls over the run.
std::optional<FallingValue> describe_fall(const Config& config, const ScheduledValue& value);
// The first of kScheduledValues that falls.
std::optional<FallingValue> falling_coefficient(const Config& config);

}  // namespace broadloom
