// How fast this machine trains.
#pragma once

#include <vector>

#include "broadloom/trials/options.h"
#include "broadloom/trials/portfolio.h"
#include "broadloom/trials/purse.h"

namespace broadloom {

// Environment steps a second of each entrant, trained as `train` would on so many threads, in about
// so many seconds in all: the fastest of up to three rounds of at least a block each, after a first
// block that is not timed. Entrants that are equally fast are timed once. Not known are those whose
// losses are not finite, and those that were not timed before the purse was over. Errors: of the
// trainer.
Result<std::vector<double>> measure_speeds(const std::vector<Entrant>& entrants, int threads,
                                           double seconds, Purse& purse);

// The same from what is known; kInvalidConfig names an entrant that is not among it.
Result<std::vector<double>> look_up_speeds(const std::vector<Entrant>& entrants,
                                           const std::vector<KnownSpeed>& known);

}  // namespace broadloom
