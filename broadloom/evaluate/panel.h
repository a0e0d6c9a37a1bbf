// Held-out panels: fixed episodes, grouped by stratum and perturbation, that score all runs of an
// environment alike. See docs/panel.md and docs/formats/panel.md.
//
//   env_id = "CartPole-v1"
//   episodes = 100            # of each row, from each seed
//   seeds = [1, 2]            # or seed = 1
//   [strata.short]            # as in a config
//   half_length = [0.2, 0.4]
//   [perturbations.noisy]     # keys of [disturb]; env.<option> = changes the environment
//   obs_noise = 0.05
//
// Episodes depend only on the panel: strata, disturbances, options and time limit of the scored run
// do not count. Rows are all pairs of a stratum and a perturbation, always including the
// undisturbed "nominal". A row draws from the panel streams (env/streams.h), which nothing else
// uses. Its keys follow from the seed and the row's two names, so no two rows have equal draws, and
// a row keeps its episodes when others are added or removed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/evaluate/evaluator.h"

namespace broadloom {

inline constexpr char kAllRows[] = "all";      // instead of a stratum or perturbation: all of them
inline constexpr char kNominal[] = "nominal";  // no perturbation

struct Panel {
  std::string env_id;
  int episodes = 100;                      // of each row, from each seed
  std::vector<std::uint64_t> seeds = {1};  // distinct, below 2^63 as in TOML
  int max_episode_steps = 0;               // 0: the environment's own
  std::string strata_sampling = "sampled";
  Overrides env;  // options of every row, keys as in Config::env_options
  struct Part {
    std::string name;
    Overrides options;  // keys as in Config::env_options
  };
  std::vector<Part> strata;         // by name; empty: one unnamed stratum
  std::vector<Part> perturbations;  // by name, without the nominal one

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("env_id", env_id, "Environment of the runs that are scored.");
    v("episodes", episodes, Range{1, 1 << 20}, "Episodes of each row, from each seed.");
    v("max_episode_steps", max_episode_steps, Range{0},
      "Time limit of an episode; 0: the environment's own.");
    v("strata_sampling", strata_sampling, Choices{{"sampled", "stratified"}},
      "How a row's episodes draw from its stratum: independently, or equally often from equal "
      "parts of each range.");
  }
};

// One pair of a stratum and a perturbation.
struct PanelRow {
  std::string stratum, perturbation;  // stratum kAllRows if the panel has none
  Overrides env_options;
  std::vector<std::uint64_t> keys;  // of the streams, one per seed; below 2^53, exact in JSON
};

// The panel's rows: strata in order, and in each the nominal perturbation first.
std::vector<PanelRow> panel_rows(const Panel& panel);

// Reads a panel from TOML and checks everything, even environment options. kInvalidConfig reads
// "name:line: message" and suggests the nearest key; kNotFound also for an unknown environment.
Result<Panel> read_panel(const std::string& path);
Result<Panel> parse_panel(std::string_view text, const std::string& name);

// Every key with its text, such as "strata.short.half_length" and "0.2..0.4", and the way back.
Overrides to_overrides(const Panel& panel);
Result<Panel> resolve_panel(const Overrides& overrides);

// The panel as a TOML file, always the same text for the same panel, and the hash of that text.
std::string panel_toml(const Panel& panel);
std::string panel_hash(const Panel& panel);

// kMismatch unless the panel is for the run's environment and the network fits every row's
// observations and actions. kInvalidConfig if playing it would exceed the run's memory limit or one
// of the system: the machine's memory, control groups, ulimit.
Status check_panel_fits(const Panel& panel, const Config& run);

// Plays all rows with one policy in one pass: [rows][seeds * episodes], seed after seed. Actions
// are the most likely ones, normalisers are frozen, and bits do not depend on threads. The panel
// must fit. should_stop: as in EvalOptions; it leaves episodes that are `stopped`.
Result<std::vector<std::vector<EvalEpisode>>> play_rows(
    const Panel& panel, const Policy& policy, int threads, const PlayProgress& on_progress = {},
    const std::function<bool()>& should_stop = {});

}  // namespace broadloom
