// Runs the remaining runs of a study in this process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "research/study/plan.h"
#include "research/study/study_progress.h"
#include "research/study/study_store.h"

namespace broadloom {

struct StudyOptions {
  std::string store;  // path
  StudyPart part;
  int jobs = 1;     // runs at the same time
  int threads = 1;  // of each run
  bool retry_failed = false;
  bool any_revision = false;
};

struct StudyHooks {
  // Called several times a second from the thread that called run_study(); may be empty.
  std::function<void(const StudyProgress&)> on_progress;
  std::function<bool()> should_stop;  // may be empty; asked equally often
};

struct StudySummary {
  std::vector<StoredRun> runs;  // all runs of the study, in order
  double seconds = 0.0;         // of this call

  // Whether no run of the part is left; by default, of the study.
  bool is_over(const StudyPart& part = {}) const;
};

// All cells must ask for the same instruction set, as a process has only one, and this machine must
// have it: else kInvalidConfig.
Status check_isa_of_cells(const StudyPlan& plan);

// Opens or makes the store, trains every run of the part that it lacks, and stores each as it ends.
// A failed run is stored with its error and does not stop the others. If stopped, the store holds
// the runs that ended; the next call does the rest with the same bits. Errors: those of
// StudyStore::open(); kIo if results cannot be stored; kInvalidConfig if the parallel runs do not
// fit in memory or ask for different isa.
Result<StudySummary> run_study(const StudyPlan& plan, const StudyOptions& options,
                               const StudyHooks& hooks);

}  // namespace broadloom
