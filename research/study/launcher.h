// Launchers train the runs that a study's store lacks: in this process or as jobs on a cluster.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "research/study/runner.h"

namespace broadloom {

struct LaunchOptions {
  StudyOptions study;     // jobs: at the same time; 0: the launcher chooses
  int parts = 0;          // jobs of an array; 0: chosen automatically
  int minutes = 0;        // time limit of a job; 0: from the predicted time of its runs
  std::string partition;  // of the cluster; "": chosen automatically
  // Command that runs a part of this study, before --runs and --out: this program and its flags.
  std::vector<std::string> command;
};

struct LaunchHooks {
  StudyHooks study;
  std::function<void(const std::string&)> on_note;  // receives sentences for the user; may be empty
};

class Launcher {
 public:
  virtual ~Launcher() = default;

  // Trains every run that the store lacks and stores each. After an interruption, another call does
  // the rest. Errors: those of run_study() and of this launcher.
  virtual Result<StudySummary> run(const StudyPlan& plan, const LaunchOptions& options,
                                   const LaunchHooks& hooks) = 0;
  // Describes what run() would submit, without doing it; "" if the plan says it all.
  virtual Result<std::string> describe(const StudyPlan& plan, const LaunchOptions& options,
                                       const LaunchHooks& hooks) = 0;
  // Whether its jobs run on other machines.
  virtual bool is_remote() const { return false; }
};

// name: "local" or "slurm"; otherwise kInvalidConfig names both.
Result<std::unique_ptr<Launcher>> make_launcher(const std::string& name);

}  // namespace broadloom
