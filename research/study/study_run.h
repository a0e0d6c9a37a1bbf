// One run of a study, in memory.
#pragma once

#include <functional>
#include <optional>

#include "research/study/plan.h"
#include "research/study/run_record.h"

namespace broadloom {

// Asked after each iteration, with the share of the run that is behind: whether to go on.
using KeepGoing = std::function<bool(double share)>;

// Trains the run from its start with `threads` threads; the result's bits depend neither on them
// nor on what else this process does. What goes wrong is part of the record. Nothing where
// keep_going said no: the run is as if it had never begun.
std::optional<RunRecord> train_run(const StudyPlan& plan, const StudyRun& run, int threads,
                                   const KeepGoing& keep_going);

}  // namespace broadloom
