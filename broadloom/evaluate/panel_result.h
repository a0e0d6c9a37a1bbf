// The result of one checkpoint on a held-out panel, and its file. See docs/formats/panel.md.
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
  std::string run_dir;                      // as given; "": a checkpoint file alone
  std::string checkpoint, checkpoint_hash;  // file in the run's folder; hash of its bytes
  std::int64_t global_step = 0;             // of the checkpoint
  std::string version, revision, binary_hash, isa;  // of the program
  std::string engine;  // EnvSpec::engine of its rows, each once; "": Broadloom, or the task's own
  // Why the panel has no scores: a number of its episodes is not finite. "": it has scores.
  std::string failure;
  std::string note;  // new bounds that the policy plays with (LoadedPolicy::note); not recorded
  // [rows][seeds * episodes] in the order of panel_rows, without EpisodeEnd::stratum. Stopped
  // ones have no score.
  std::vector<std::vector<EvalEpisode>> episodes;
};

// One line of a panel's table: a row or several rows together. Episodes of different rows are
// independent, so an interval over several rows is that of one larger sample.
struct PanelGroup {
  std::string stratum, perturbation;  // kAllRows: all of them
  std::vector<std::size_t> rows;      // indices into panel_rows
};

// Every row; then for each perturbation all strata together, if there are several; then all rows
// together, if there are several perturbations. The last group is the overall one.
std::vector<PanelGroup> panel_groups(const Panel& panel);

// Episodes that ended, of all. Fewer, if the play was stopped.
struct PanelCount {
  std::int64_t ended = 0, asked = 0;
  bool is_whole() const { return ended == asked; }
};
PanelCount count_episodes(const PanelResult& result);

// The group's episodes that ended, row by row. None for several rows if one of them is not whole,
// since the others would then stand for it.
std::vector<EvalEpisode> episodes_of(const PanelResult& result, const PanelGroup& group);

// Statistics of those episodes, at least one; global_step is the checkpoint's.
EvalResult score_of(const PanelResult& result, const PanelGroup& group);

// Plays the panel and records what was played. kMismatch if the panel does not fit. should_stop: as
// in EvalOptions.
Result<PanelResult> play_panel(const Panel& panel, const Policy& policy, int threads,
                               const PlayProgress& on_progress = {},
                               const std::function<bool()>& should_stop = {});

// The path of a panel's result in the run's folder; its name has the panel's hash, so results on
// different panels do not collide.
std::string panel_result_path(const RunFolder& folder, const Panel& panel);
// The same for a play that was stopped.
std::string partial_panel_path(const RunFolder& folder, const Panel& panel);

// The whole file; and the part for a line of a ledger: definition, rows and hashes, without run,
// program and single episodes.
std::string panel_result_json(const PanelResult& result);
std::string panel_record_json(const PanelResult& result);

// The file of a play that was stopped: its ended episodes with their numbers, and rows that have
// some. No command reads it.
std::string partial_panel_json(const PanelResult& result);

// kNotFound; kCorrupt if the file was altered.
Result<PanelResult> read_panel_result(const std::string& path);

}  // namespace broadloom
