// Makes the ledger line of a finished run. See docs/formats/ledger.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/panel_result.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

// Measurements of the process that finished a run; zeros if the run was finished before.
struct MeasuredRun {
  std::int64_t steps = 0;        // environment steps of this process
  double seconds = 0.0;          // since this process began to train
  std::int64_t peak_memory = 0;  // of this process, bytes
};

// Makes the sealed line (record/ledger.h) of the finished run in the folder. Manifest, checkpoint
// and evaluations must be written. trainer: in its last state. panel: the run's scores, if any.
Result<std::string> make_ledger_line(const RunFolder& folder, const std::string& named_dir,
                                     Trainer& trainer, const MeasuredRun& measured,
                                     const std::optional<PanelResult>& panel);

}  // namespace broadloom
