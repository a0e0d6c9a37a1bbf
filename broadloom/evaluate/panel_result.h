// What one checkpoint did on a held-out panel, and the file that keeps it. See
// docs/formats/panel.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/evaluate/panel.h"
#include "broadloom/record/run_folder.h"

namespace broadloom {

struct PanelResult {
  Panel panel;
  EnvSpec spec;                             // of the panel's environment: reasons and success
  std::string run_dir;                      // as it was named; "": a checkpoint file alone
  std::string checkpoint, checkpoint_hash;  // file in the run's folder; of its bytes
  std::int64_t global_step = 0;             // of the checkpoint
  std::string version, revision, binary_hash, isa;  // of the program that played
  // [rows][seeds * episodes] in the order of panel_rows; EpisodeEnd::stratum is not kept.
  std::vector<std::vector<EvalEpisode>> episodes;
};

// One line of a panel's table: a row, or several taken together. Episodes of different rows are
// independent, so that intervals over several rows are those of one larger sample.
struct PanelGroup {
  std::string stratum, perturbation;  // kAllRows: over all of them
  std::vector<std::size_t> rows;      // into panel_rows
};

// Every row; then for every perturbation all strata together, where there are several; then all
// rows together, where there are several perturbations. The last one is the overall.
std::vector<PanelGroup> panel_groups(const Panel& panel);

// The group's episodes, row after row.
std::vector<EvalEpisode> episodes_of(const PanelResult& result, const PanelGroup& group);

// What they come to; global_step is the checkpoint's.
EvalResult score_of(const PanelResult& result, const PanelGroup& group);

// Plays the panel; what was played is what the result names. kMismatch where the panel does not
// fit.
Result<PanelResult> play_panel(const Panel& panel, const Policy& policy, int threads,
                               const PlayProgress& on_progress = {});

// Of a panel's result in the run's folder; the name has the panel's hash, so that results on
// different panels stand side by side.
std::string panel_result_path(const RunFolder& folder, const Panel& panel);

// The whole file; and the part that a line of a ledger holds: definition, rows and hashes, without
// run, program and single episodes.
std::string panel_result_json(const PanelResult& result);
std::string panel_record_json(const PanelResult& result);

// kNotFound; kCorrupt where the file is not as it was written.
Result<PanelResult> read_panel_result(const std::string& path);

}  // namespace broadloom
