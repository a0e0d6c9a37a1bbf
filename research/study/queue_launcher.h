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

// name: the launcher's name in launch.json.
//
// run() locks the study's store and takes in the results of earlier launches; it waits for those
// still running. Then it submits the remaining runs as one array, and takes in each run once a
// part's store has it, until no job is left. If stopped, it leaves the jobs running; the next call
// watches them again. kIo names the parts that ended before their runs did. Their finished runs are
// in the store, and the next call does the rest.
std::unique_ptr<Launcher> make_queue_launcher(const std::string& name,
                                              std::unique_ptr<JobQueue> queue);

// The jobs that run() would submit.
struct LaunchPlan {
  std::vector<CellPrediction> cells;
  std::vector<RunPart> parts;
  JobLimits limits;
  double seconds = 0.0;  // predicted, for all runs
};

// Time limit in minutes for a job whose runs are predicted to take `seconds`: twice that, plus two
// minutes.
int minutes_for(double seconds);

// Divides the runs that the store lacks into parts and chooses a partition. options.parts sets the
// number of parts. By default a part takes ten minutes, with at least one part for each job that
// may run at the same time, and more if no partition accepts so long a job. kInvalidConfig if none
// accepts a job of one run.
Result<LaunchPlan> plan_launch(const StudyPlan& plan, const std::vector<StoredRun>& stored,
                               const LaunchOptions& options, const JobQueue& queue,
                               const LaunchHooks& hooks);

}  // namespace broadloom
