// Who trains what a study's store lacks: this process, or the jobs of a cluster.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "research/study/runner.h"

namespace broadloom {

struct LaunchOptions {
  StudyOptions study;     // jobs: at once; 0: as many as there is room for
  int parts = 0;          // jobs of an array; 0: chosen
  int minutes = 0;        // that a job may take; 0: by what its runs are predicted to take
  std::string partition;  // of the cluster; "": chosen
  // That runs a part of this very study, before --runs and --out: this program with its flags.
  std::vector<std::string> command;
};

struct LaunchHooks {
  StudyHooks study;
  std::function<void(const std::string&)> on_note;  // a sentence for whoever watches; may be empty
};

class Launcher {
 public:
  virtual ~Launcher() = default;

  // Trains every run that the store lacks, and puts each in. Called again after anything, it does
  // the rest. Errors: those of run_study(), and what is this launcher's own.
  virtual Result<StudySummary> run(const StudyPlan& plan, const LaunchOptions& options,
                                   const LaunchHooks& hooks) = 0;
  // What run() would hand over, in words, without doing it; "": nothing more than the plan says.
  virtual Result<std::string> describe(const StudyPlan& plan, const LaunchOptions& options,
                                       const LaunchHooks& hooks) = 0;
  // Whether its jobs are another machine's.
  virtual bool is_remote() const { return false; }
};

// "local" or "slurm"; kInvalidConfig names them for any other word.
Result<std::unique_ptr<Launcher>> make_launcher(const std::string& name);

}  // namespace broadloom
