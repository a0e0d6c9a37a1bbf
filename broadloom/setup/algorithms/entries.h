// The entries of the library's own algorithms, a file each.
#pragma once

#include <optional>

#include "broadloom/config/config.h"
#include "broadloom/config/schedule.h"
#include "broadloom/setup/algorithms.h"

namespace broadloom {

AlgorithmEntry ppo_entry();
AlgorithmEntry pqn_entry();
AlgorithmEntry ppo_rnd_entry();

// All of them, in the order in which help lists them.
inline constexpr AlgorithmEntry (*kEntries[])() = {ppo_entry, pqn_entry, ppo_rnd_entry};

// What one of kScheduledValues says where it falls over the run; none: it stays.
std::optional<FallingValue> scheduled(const Config& config, const ScheduledValue& one);
// The first of them that falls.
std::optional<FallingValue> falling_coefficient(const Config& config);

}  // namespace broadloom
