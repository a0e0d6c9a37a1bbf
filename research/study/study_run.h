// Trains one run of a study in memory.
#pragma once

#include <functional>
#include <optional>

#include "research/study/plan.h"
#include "research/study/run_record.h"

namespace broadloom {

// Called after each iteration with the finished share of the run; returns whether to go on.
using KeepGoing = std::function<bool(double share)>;

// Trains the run from its start. The bits depend neither on `threads` nor on other work of this
// process. The record holds an error if there was one. Returns nothing if keep_going said no; no
// trace of the run remains then.
std::optional<RunRecord> train_run(const StudyPlan& plan, const StudyRun& run, int threads,
                                   const KeepGoing& keep_going);

}  // namespace broadloom
