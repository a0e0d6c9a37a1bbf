// Whole runs in a folder: start and resume. What the program's sub-commands call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/ranks.h"
#include "broadloom/core/status.h"
#include "broadloom/evaluate/panel.h"
#include "broadloom/train/contract.h"
#include "broadloom/train/initial_policy.h"

namespace broadloom {

struct Progress {
  std::int64_t iteration = 0;
  std::int64_t num_iterations = 0;
  std::int64_t global_step = 0;
  std::int64_t total_timesteps = 0;  // that whole iterations reach
  double steps_per_second = 0.0;     // since this process began to train
  double mean_return = 0.0;   // of the last episodes (IterationReport); not a number before any
  double success_rate = 0.0;  // of them; not a number where it is not known
  double seconds_left = 0.0;
};

struct RunHooks {
  // May be empty; told what will be run: of a new run before anything of it is made, and once
  // nothing that can be seen beforehand stands against it but memory; of a resumed one when its
  // checkpoint and logs have been found whole.
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
  bool finished = false;               // false: stopped by should_stop, saved, ready to be resumed
  std::int64_t episodes = 0;           // that have ended in training
  std::int64_t averaged_episodes = 0;  // of the last of them, the following are
  double mean_return = 0.0;
  double success_rate = 0.0;  // of them; not a number where it is not known
  double seconds = 0.0;       // of training in this process

  // v(name, value) for each of them: the program's and Python's answer have these names.
  template <class Visitor>
  void visit(Visitor&& v) const {
    v("run_dir", run_dir);
    v("global_step", global_step);
    v("total_timesteps", total_timesteps);
    v("finished", finished);
    v("episodes", episodes);
    v("mean_return", mean_return);
    v("success_rate", success_rate);
    v("seconds", seconds);
  }
};

// Trains from the start into the new folder run_dir, which must not exist or be empty. The folder
// appears whole, with a checkpoint of the untrained policy, so that a kill at any moment leaves
// either no folder or one that can be resumed. threads >= 1 changes speed only. kMismatch unless
// set_isa() was given what config.isa asks for. A run that comes to
// its end leaves its own line of a ledger in the folder (ledger_line.json). With a panel, which is
// kept in the folder and must fit the run (kMismatch before anything is made), the final policy is
// scored on it, and the line holds the scores. With a policy to begin with (init), which must fit
// the run as well, the first parameters are that one's; manifest and line say whose.
//
// ranks: that train it together, this one being the first; the others call join_run() and
// follow_run() (ranked_run.h). Nobody but the first reads or writes files of the run. Where one is
// gone the run ends with what was saved.
//
// rerun_of: hash of the record's line that is run again; "": the run is its own. The manifest keeps
// it, since no ledger takes a rerun in.
Result<RunSummary> start_run(const Config& config, const std::string& run_dir, int threads,
                             const RunHooks& hooks, const std::optional<Panel>& panel = {},
                             const std::optional<InitialPolicy>& init = {},
                             Ranks& ranks = Ranks::alone(), const std::string& rerun_of = "");

// What set_isa() is to be given before a run is resumed: what it asked for, or what has the bits
// that it began with.
Result<std::string> isa_of_run(const std::string& run_dir);

// Goes on from the newest checkpoint, with the bits of a run that was never stopped: what the logs
// hold past that checkpoint is cut off and written again. A finished run is reported as it is, and
// gets its ledger line where that is missing. The panel is that of the folder. kIo where another
// process, or thread, is training the run; kCorrupt where the logs are not what the checkpoint was
// saved with, of a finished run, too.
//
// total_timesteps: 0, or no less than the run's own: makes the run longer, finished or not, with
// the bits of one that was as long from the start. The manifest keeps what it was, and a run that
// has come to its new end has a line of its own. kInvalidConfig where the total decides what is
// learnt (depends_on_total), is less, or has room for no more blocks.
//
// machine: keys such as device in the place of the run's own (config/machine.h), which the run has
// from then on, unless nothing is left to train. Manifest and record say from which step on another
// device trained (whether or not it was asked for here), and once one of its parts had bits of its
// own, so has the run.
//
// ranks: as of start_run(), and as many as there are now.
Result<RunSummary> resume_run(const std::string& run_dir, int threads, const RunHooks& hooks,
                              std::int64_t total_timesteps = 0, const Overrides& machine = {},
                              Ranks& ranks = Ranks::alone());

}  // namespace broadloom
