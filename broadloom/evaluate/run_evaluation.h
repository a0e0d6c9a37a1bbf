// Evaluates a run's policy on new episodes, as `broadloom eval` does. Playing and recording are
// separate calls, so that a failure to write loses no result.
//
// run_or_checkpoint: a run's folder, whose newest checkpoint is played, or a checkpoint file. The
// run may be training meanwhile.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/panel.h"
#include "broadloom/evaluate/panel_result.h"

namespace broadloom {

// The argument of set_isa() that gives the run's bits: the isa that the run asked for.
Result<std::string> isa_of_policy(const std::string& run_or_checkpoint);

// Plays episodes of the run's own environment. Writes nothing.
Result<EvalResult> evaluate_run(const std::string& run_or_checkpoint, const EvalOptions& options);

// Appends the result to eval_command.jsonl of the run's folder; does nothing for a checkpoint file.
Status record_evaluation(const std::string& run_or_checkpoint, const EvalResult& result,
                         const EvalOptions& options);

// Plays a panel; threads >= 1. Writes nothing. should_stop: as in EvalOptions.
Result<PanelResult> run_panel(const std::string& run_or_checkpoint, const Panel& panel, int threads,
                              const PlayProgress& on_progress = {},
                              const std::function<bool()>& should_stop = {});

// Saves a panel's result in the run's folder and returns its path; for a checkpoint file, returns
// "" and writes nothing. If the play was stopped, it is a file of its own, which the next whole
// result removes.
Result<std::string> save_panel_result(const std::string& run_or_checkpoint,
                                      const PanelResult& result);

}  // namespace broadloom
