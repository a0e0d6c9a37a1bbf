// Runs what is left of a study.
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
  std::string store;  // path of the file
  StudyPart part;
  int jobs = 1;     // runs at once
  int threads = 1;  // of each run
  bool retry_failed = false;
  bool any_revision = false;
};

struct StudyHooks {
  // Called from the thread that called run_study(), several times a second; may be empty.
  std::function<void(const StudyProgress&)> on_progress;
  std::function<bool()> should_stop;  // may be empty; asked as often
};

struct StudySummary {
  bool complete = false;        // no run of this part is left
  std::vector<StoredRun> runs;  // all of the study, in order
  double seconds = 0.0;         // of this call
};

// The instruction set belongs to the process, so all cells must ask for the same, and this machine
// have it: kInvalidConfig.
Status check_isa_of_cells(const StudyPlan& plan);

// Opens or makes the store, trains every run of the part that it lacks, and puts each in as soon
// as it ends. A run that fails is stored with its error and stops no other. Stopped at any moment,
// the store holds the runs that ended; the next call does the rest, with the bits that a study
// without interruption has. Errors: those of StudyStore::open(); kIo where results can no longer be
// stored; kInvalidConfig where the runs do not fit in memory together, or ask for different isa.
Result<StudySummary> run_study(const StudyPlan& plan, const StudyOptions& options,
                               const StudyHooks& hooks);

}  // namespace broadloom
