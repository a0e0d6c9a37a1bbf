// Runs a study as arrays of jobs in a queue.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "research/study/balance.h"
#include "research/study/job_queue.h"
#include "research/study/launcher.h"
#include "research/study/predict.h"

namespace broadloom {

// name: of the launcher, as launch.json keeps it.
//
// run() opens the study's store for itself, takes in what launches of before have come to, waiting
// for those that still run, and hands the runs that are left to the queue as one array. It watches
// that until no job of it is left, and takes in each run once a part's store has it. Stopped, it
// leaves the jobs running; the next call watches them again. kIo names the parts that ended before
// their runs did; what they finished is in the store, and the next call does the rest.
std::unique_ptr<Launcher> make_queue_launcher(const std::string& name,
                                              std::unique_ptr<JobQueue> queue);

// What would be handed over.
struct LaunchPlan {
  std::vector<CellPrediction> cells;
  std::vector<RunPart> parts;
  JobLimits limits;
  double seconds = 0.0;  // predicted, of all runs
};

// Minutes that a job is given whose runs are predicted to take so many seconds: twice as long, and
// two minutes.
int minutes_for(double seconds);

// Cuts the runs that the store lacks into parts and finds a place for them. As many parts as asked
// for; else parts of ten minutes, but one for every job that may run at once, and more and smaller
// ones where no partition would take them. kInvalidConfig where none takes even one run.
Result<LaunchPlan> plan_launch(const StudyPlan& plan, const std::vector<StoredRun>& stored,
                               const LaunchOptions& options, const JobQueue& queue,
                               const LaunchHooks& hooks);

}  // namespace broadloom
