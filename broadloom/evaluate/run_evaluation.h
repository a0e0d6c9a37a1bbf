// The policy of a run on episodes that it was not trained on: what `broadloom eval` calls. To play
// and to keep what was played are two calls: where nothing can be written, no result is lost.
//
// run_or_checkpoint: a run's folder, whose newest checkpoint is played, or a checkpoint file. The
// run may be in training meanwhile.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/panel.h"
#include "broadloom/evaluate/panel_result.h"

namespace broadloom {

// What set_isa() is to be given for the bits that the run had: what it asked for.
Result<std::string> isa_of_policy(const std::string& run_or_checkpoint);

// Plays episodes of the run's own environment. Writes nothing.
Result<EvalResult> evaluate_run(const std::string& run_or_checkpoint, const EvalOptions& options);

// Appends the result to eval_command.jsonl of the run's folder; does nothing for a checkpoint file.
Status record_evaluation(const std::string& run_or_checkpoint, const EvalResult& result,
                         const EvalOptions& options);

// Plays a panel; threads >= 1. Writes nothing.
Result<PanelResult> run_panel(const std::string& run_or_checkpoint, const Panel& panel, int threads,
                              const PlayProgress& on_progress = {});

// Keeps a panel's result in the run's folder, and gives its path; "", and no file, for a checkpoint
// file.
Result<std::string> save_panel_result(const std::string& run_or_checkpoint,
                                      const PanelResult& result);

}  // namespace broadloom
