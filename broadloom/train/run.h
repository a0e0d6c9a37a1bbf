// Whole runs in a folder: start, resume, evaluate. What the program's sub-commands call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "broadloom/core/status.h"
#include "broadloom/train/config.h"
#include "broadloom/train/contract.h"
#include "broadloom/train/evaluator.h"
#include "broadloom/train/panel.h"
#include "broadloom/train/panel_result.h"

namespace broadloom {

struct Progress {
  std::int64_t iteration = 0;
  std::int64_t num_iterations = 0;
  std::int64_t global_step = 0;
  std::int64_t total_timesteps = 0;  // that whole iterations reach
  double steps_per_second = 0.0;     // since this process began to train
  double mean_return = 0.0;          // of the last 100 episodes; not a number before the first ends
  double success_rate = 0.0;         // of them; not a number where it is not known
  double seconds_left = 0.0;
};

struct RunHooks {
  // May be empty; told what will be run, before anything of it is made, and once nothing that can
  // be seen beforehand stands against it but memory.
  std::function<void(const RolloutContract&)> on_contract;
  std::function<void(const Progress&)> on_iteration;  // may be empty
  std::function<bool()> should_stop;                  // may be empty; asked after each iteration
  // May be empty; the panel at the end. The run is saved by then: a process that is killed while it
  // plays loses nothing, and resume_run() plays again.
  PlayProgress on_panel;
  // May be empty; told in a sentence what a user should know of the bits or the speed of this run.
  std::function<void(const std::string&)> on_note;
};

struct RunSummary {
  std::string run_dir;
  std::int64_t global_step = 0;
  std::int64_t total_timesteps = 0;
  bool finished = false;      // false: stopped by should_stop, saved, ready to be resumed
  double mean_return = 0.0;   // of the last 100 training episodes
  double success_rate = 0.0;  // of them; not a number where it is not known
  double seconds = 0.0;       // of training in this process
};

// Trains from the start into the new folder run_dir, which must not exist or be empty. The folder
// appears whole, with a checkpoint of the untrained policy, so that a kill at any moment leaves
// either no folder or one that can be resumed. threads >= 1 changes speed only. A run that comes to
// its end leaves its own line of a ledger in the folder (ledger_line.json). With a panel, which is
// kept in the folder and must fit the run (kMismatch before anything is made), the final policy is
// scored on it, and the line holds the scores.
Result<RunSummary> start_run(const Config& config, const std::string& run_dir, int threads,
                             const RunHooks& hooks, const std::optional<Panel>& panel = {});

// Goes on from the newest checkpoint, with the bits of a run that was never stopped: what the logs
// hold past that checkpoint is cut off and written again. A finished run is reported as it is, and
// gets its ledger line where that is missing. The panel is that of the folder. kIo where another
// process, or thread, is training the run.
Result<RunSummary> resume_run(const std::string& run_dir, int threads, const RunHooks& hooks);

// Evaluates the newest checkpoint and appends the result to the folder's eval_command.jsonl. The
// run may be in training meanwhile.
Result<EvalResult> evaluate_run(const std::string& run_dir, const EvalOptions& options);

// Scores the newest checkpoint on a panel; threads >= 1. isa: as in a config; "": the run's own.
// Changes nothing in the folder.
Result<PanelResult> run_panel(const std::string& run_dir, const Panel& panel, int threads,
                              const std::string& isa = "", const PlayProgress& on_progress = {});

// Keeps a panel's result in the run's folder, and gives its path.
Result<std::string> save_panel_result(const std::string& run_dir, const PanelResult& result);

}  // namespace broadloom
