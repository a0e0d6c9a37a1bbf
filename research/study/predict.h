// Predicts the time and memory of a study's runs from short measurements.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "research/study/plan.h"
#include "research/study/study_store.h"

namespace broadloom {

// The source of a prediction.
enum class PredictionSource {
  kRuns,      // finished runs of this cell
  kTiming,    // some blocks of this cell, timed here
  kOtherCell  // the most similar cell with a prediction
};

struct CellPrediction {
  double seconds = 0.0;  // of one run, including evaluations
  PredictionSource source = PredictionSource::kOtherCell;
  std::size_t other_cell = 0;  // with kOtherCell
};

struct PredictOptions {
  int threads = 1;
  double seconds = 10.0;                              // budget for timing all cells
  std::function<bool()> should_stop = {};             // may be empty
  std::function<void(const std::string&)> tell = {};  // receives progress sentences; may be empty
};

// Predicts the time of a run of each cell. Cells with stored runs take their mean. Otherwise this
// times some blocks of each shape after a warm-up block, and scales them to the run's iterations.
// It also times one evaluation of the policy, and scales it to episodes of the time limit, or of
// the measured length if there is none. At least one block of each shape is timed. Once the budget
// is spent, the other cells take the time per environment step of the cell that differs in the
// fewest keys. Errors: those of the trainer and evaluation; kNumeric if no cell could be timed. If
// stopped, returns the predictions so far.
Result<std::vector<CellPrediction>> predict_cells(const StudyPlan& plan,
                                                  const std::vector<StoredRun>& stored,
                                                  const PredictOptions& options);

// Bytes of memory for a job with any of these runs: the largest memory plan of their cells
// (broadloom/setup/memory_plan.h), a quarter more for other allocations, and the program itself.
// Errors: those of make_contract().
Result<std::size_t> job_memory(const StudyPlan& plan, const std::vector<const StudyRun*>& runs,
                               int threads);

}  // namespace broadloom
