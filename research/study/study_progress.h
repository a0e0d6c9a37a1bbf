// How far a study is, and how long it will take.
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
  double training_iqm = 0.0;  // of the finished runs' training returns; NaN: none yet
  double seconds_left = 0.0;  // until its last run ends; NaN: not known yet
};

struct StudyProgress {
  std::vector<CellProgress> cells;
  int runs = 0, finished = 0, failed = 0;
  double seconds = 0.0;       // of this process
  double seconds_left = 0.0;  // NaN: not known yet
  std::string waiting;        // why nothing can be stored or told just now; "": it can
  std::string jobs;           // of a cluster that are at work, in words; "": this process is
};

// Keeps the count of a study's runs. Not for several threads.
class ProgressCounter {
 public:
  // jobs: how many runs go on at once.
  ProgressCounter(const StudyPlan& plan, const StudyPart& part, int jobs);

  // A run that is over.
  void add(int cell, bool failed, double seconds, double training_return);
  // running[r]: the share behind of run r + 1, negative unless it is running; elapsed[r]: seconds.
  struct Running {
    std::int64_t id = 0;
    double share = 0.0;
    double elapsed = 0.0;
  };
  // pending: runs not yet over, in the order in which they are started; those running among them.
  StudyProgress progress(const std::vector<const StudyRun*>& pending,
                         const std::vector<Running>& running) const;

 private:
  double expected_seconds(int cell, const std::vector<double>& guesses) const;

  struct Cell {
    CellProgress counts;
    std::vector<double> returns;
    double seconds = 0.0;  // of all runs that are over
    double steps = 0.0;    // of one run
  };
  std::vector<Cell> cells_;
  int jobs_ = 1;
};

}  // namespace broadloom
