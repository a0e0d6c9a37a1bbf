// Progress of a study and its remaining time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "research/study/plan.h"
#include "research/study/study_store.h"

namespace broadloom {

struct CellProgress {
  int runs = 0;  // of this part
  int finished = 0, failed = 0;
  double training_iqm = 0.0;  // IQM of the finished runs' training returns; NaN: none yet
  double seconds_left = 0.0;  // until its last run ends; NaN: unknown
};

struct StudyProgress {
  std::vector<CellProgress> cells;
  int runs = 0, finished = 0, failed = 0;
  int before = 0;             // runs that were done when this process began
  double seconds = 0.0;       // of this process
  double seconds_left = 0.0;  // NaN: unknown
  std::string waiting;        // why nothing can be stored or read at present; "": it can
  std::string jobs;           // jobs at work on a cluster, in words; "": this process trains
};

// Counts a study's runs. Not thread-safe.
class ProgressCounter {
 public:
  // jobs: number of runs at the same time.
  ProgressCounter(const StudyPlan& plan, const StudyPart& part, int jobs);

  // Counts a run that has ended.
  void add(int cell, bool failed, double seconds, double training_return);
  // A run in progress: `share` of it is done after `elapsed` seconds.
  struct Running {
    std::int64_t id = 0;
    double share = 0.0;
    double elapsed = 0.0;
  };
  // pending: runs that have not ended, in the order of starting, including the running ones.
  StudyProgress progress(const std::vector<const StudyRun*>& pending,
                         const std::vector<Running>& running) const;

 private:
  double expected_seconds(int cell, const std::vector<double>& guesses) const;

  struct Cell {
    CellProgress counts;
    std::vector<double> returns;
    double seconds = 0.0;  // of all runs that have ended
    double steps = 0.0;    // of one run
  };
  std::vector<Cell> cells_;
  int jobs_ = 1;
};

}  // namespace broadloom
