// Starts and resumes whole runs in a folder, for the program's sub-commands.
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
#include "broadloom/train/teacher_policy.h"

namespace broadloom {

class Trainer;

struct Progress {
  std::int64_t iteration = 0;
  std::int64_t num_iterations = 0;
  std::int64_t global_step = 0;
  std::int64_t total_timesteps = 0;  // of all whole iterations
  double steps_per_second = 0.0;     // of this process
  double mean_return = 0.0;          // of the last episodes (IterationReport); NaN before the first
  double success_rate = 0.0;         // of them; not a number where it is not known
  double seconds_left = 0.0;
  std::string run_dir;
  std::string evaluation;  // line of eval.jsonl, if this iteration was evaluated; else ""
  // Valid during the call: its report and its policy. The policy changes with every iteration.
  const Trainer* trainer = nullptr;
};

struct RunHooks {
  // The run's folder as its user named it, for messages and the record; "": as given below. The
  // folder given below may then be a whole path, which holds if the process changes its folder.
  std::string named_dir;
  // May be empty. Called once with the contract: for a new run after all checks except memory and
  // before anything is made; for a resumed run after its checkpoint and logs were checked.
  std::function<void(const RolloutContract&)> on_contract;
  std::function<void(const Progress&)> on_iteration;  // may be empty
  std::function<bool()> should_stop;                  // may be empty; called after each iteration
  // May be empty. Called when training ends, also by a failure, with the run's folder and the step
  // that a resume would continue from.
  std::function<void(const std::string&, std::int64_t)> on_end;
  // May be empty. Progress of the panel at the end. The run is saved by then: if the process is
  // killed, resume_run() plays the panel again.
  PlayProgress on_panel;
  // May be empty. Receives sentences on the bits or the speed of the run.
  std::function<void(const std::string&)> on_note;
};

struct RunSummary {
  std::string run_dir;
  std::int64_t global_step = 0;
  std::int64_t total_timesteps = 0;
  bool finished = false;        // false: stopped by should_stop and saved
  std::string stopped_by;       // key that ended the run early; "": none
  double stopped_return = 0.0;  // mean return that reached it; NaN: none
  // The best evaluation in training, whose policy is in best.safetensors. NaN and 0: none yet.
  double best_return = 0.0;
  std::int64_t best_step = 0;
  std::int64_t episodes = 0;           // ended in training
  std::int64_t averaged_episodes = 0;  // number of last episodes in these means:
  double mean_return = 0.0;
  double success_rate = 0.0;  // of them; not a number where it is not known
  double seconds = 0.0;       // of training, in this process
  // Why the panel has no scores: a number that is not finite. The run is finished and recorded.
  // "": the panel has scores, or this call played none.
  std::string panel_failure;

  // Calls v(name, value) for each field; the program's and Python's results have these names.
  template <class Visitor>
  void visit(Visitor&& v) const {
    v("run_dir", run_dir);
    v("global_step", global_step);
    v("total_timesteps", total_timesteps);
    v("finished", finished);
    v("stopped_by", stopped_by);
    v("stopped_return", stopped_return);
    v("best_return", best_return);
    v("best_step", best_step);
    v("episodes", episodes);
    v("mean_return", mean_return);
    v("success_rate", success_rate);
    v("seconds", seconds);
  }
};

// Trains a new run in the folder run_dir, which must not exist or must be empty. The folder appears
// atomically with a checkpoint of the untrained policy, so a kill leaves either no folder or one
// that can be resumed. threads >= 1 changes only speed. kMismatch unless set_isa() was called with
// config.isa.
//
// A finished run writes its ledger line to the folder (ledger_line.json). panel: kept in the
// folder; the final policy is scored on it, and the line has the scores or the failure. init: a
// policy whose parameters the run begins with; manifest and line name it. Both must fit the run:
// kMismatch before anything is made.
//
// ranks: the processes that train together; this one is the first, and the others call join_run()
// and follow_run() (ranked_run.h). Only the first rank reads or writes the run's files. If a rank
// is lost, the run ends with what was saved.
//
// rerun_of: hash of the repeated record's line; "": not a rerun. The manifest keeps it, because
// ledgers do not accept reruns.
//
// teacher: nullopt reads the one that the config names, if its algorithm has one. The folder keeps
// a copy (teacher.safetensors), which resumes and reruns use.
Result<RunSummary> start_run(const Config& config, const std::string& run_dir, int threads,
                             const RunHooks& hooks, const std::optional<Panel>& panel = {},
                             const std::optional<InitialPolicy>& init = {},
                             Ranks& ranks = Ranks::alone(), const std::string& rerun_of = "",
                             const std::optional<TeacherFile>& teacher = {});

// The argument for set_isa() before a run is resumed: the run's isa, or one with the bits that it
// began with.
Result<std::string> isa_of_run(const std::string& run_dir);

// The total_timesteps of a run that becomes this many steps longer. kInvalidConfig for fewer than
// 1, or too many to count.
Result<std::int64_t> total_with_more(const std::string& run_dir, std::int64_t more_timesteps);

// Resumes from the newest checkpoint with the bits of an uninterrupted run. Truncates logs after
// that checkpoint and writes them again. Returns the summary of a finished run, and writes its
// ledger line if that is missing. Uses the folder's panel. kIo if another process or thread trains
// the run; kCorrupt if the logs do not fit the checkpoint, also for a finished run.
//
// total_timesteps: 0, or at least the run's own. Makes the run longer, finished or not, with the
// bits of a run that was this long from the start. A value that falls stays at its end: the old
// total becomes schedule_timesteps. The manifest keeps the old value, and the new end gets its own
// ledger line. kInvalidConfig if nothing would be learnt there, with shape_schedule, or if the
// total is smaller, or adds no block.
//
// machine: keys such as device that replace the run's own (setup/machine.h) from now on, unless
// nothing is left to train. Manifest and record note the step at which another device took over. If
// any part of a run has bits of its own, so does the run. Also stop_at_return, which may rise or be
// none: a run that stopped there continues.
//
// ranks: as for start_run(); their number may differ from before.
Result<RunSummary> resume_run(const std::string& run_dir, int threads, const RunHooks& hooks,
                              std::int64_t total_timesteps = 0, const Overrides& machine = {},
                              Ranks& ranks = Ranks::alone());

}  // namespace broadloom
