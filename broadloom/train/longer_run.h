// Runs that are made longer than they were begun.
#pragma once

#include <cstdint>

#include "broadloom/core/status.h"
#include "broadloom/train/started_run.h"

namespace broadloom {

// In memory: config and manifest. What the run has learnt must be what it would have from the
// start: kInvalidConfig, with what to do, where something falls over its total, or where the total
// is less or makes no block more.
Status make_longer(StartedRun& run, std::int64_t total_timesteps);

}  // namespace broadloom
