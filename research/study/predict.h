// What the runs of a study will take, from a measured piece of each of its cells.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "research/study/plan.h"
#include "research/study/study_store.h"

namespace broadloom {

// Where a prediction is from.
enum class PredictedBy {
  kRuns,    // runs of this cell that have finished
  kTiming,  // a piece of this cell, timed here
  kOther    // another cell, the most alike of those that are known
};

struct CellPrediction {
  double seconds = 0.0;  // of one run, evaluations among them
  PredictedBy by = PredictedBy::kOther;
  std::size_t other = 0;  // the cell, where it is by another one
};

struct PredictOptions {
  int threads = 1;
  double seconds = 10.0;                              // for timing, of all cells together
  std::function<bool()> should_stop = {};             // may be empty
  std::function<void(const std::string&)> tell = {};  // what is timed now; may be empty
};

// A run of each cell. Where the store has runs of it, their mean. Else some blocks of each of its
// shapes are timed, a first one left out, and as many iterations as the run has are set down at
// that speed; its evaluations at the speed of one of the policy there, as if every episode went on
// to the time limit (where there is none, as it did there). One block of each shape is timed at the
// least; when the seconds are spent, the cells that are left take as long for an environment step
// as the one whose settings differ in fewest keys. Errors: of the trainer and the evaluation;
// kNumeric where no cell could be timed. Stopped: what is known by then.
Result<std::vector<CellPrediction>> predict_cells(const StudyPlan& plan,
                                                  const std::vector<StoredRun>& stored,
                                                  const PredictOptions& options);

// Bytes that a job with any of these runs may take: the largest memory plan of their cells
// (broadloom/setup/memory_plan.h), a quarter more for what is allocated beside it, and the program
// with its libraries. Errors: of make_contract().
Result<std::size_t> job_memory(const StudyPlan& plan, const std::vector<const StudyRun*>& runs,
                               int threads);

}  // namespace broadloom
