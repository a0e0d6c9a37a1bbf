// The record of a finished run: what its line of a ledger says. See docs/formats/ledger.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/panel_result.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

// What the process that finished a run measured of it; nothing where the run was finished before.
struct MeasuredRun {
  std::int64_t steps = 0;        // environment steps that it made
  double seconds = 0.0;          // since it began to train
  std::int64_t peak_memory = 0;  // bytes, the most that the process ever held
};

// The sealed line (record/ledger.h) of the finished run in the folder, whose manifest, checkpoint
// and evaluations must be written; trainer: in its last state. panel: what the run was scored on.
Result<std::string> make_ledger_line(const RunFolder& folder, Trainer& trainer,
                                     const MeasuredRun& measured,
                                     const std::optional<PanelResult>& panel);

}  // namespace broadloom
