// Held-out panels: fixed episodes, grouped by stratum and perturbation, on which any run of an
// environment is scored alike. See docs/panel.md and docs/formats/panel.md.
//
//   env_id = "CartPole-v1"
//   episodes = 100            # of each row, from each seed
//   seeds = [1, 2]            # or seed = 1
//   [strata.short]            # as in a config
//   half_length = [0.2, 0.4]
//   [perturbations.noisy]     # what [disturb] takes; env.<option> = changes the environment
//   obs_noise = 0.05
//
// The panel states all that episodes depend on: strata, disturbances, options and time limit of the
// run that is scored do not count. Its rows are all pairs of a stratum and a perturbation, of which
// "nominal", undisturbed, is always one. A row draws from the panel streams (env/streams.h), which
// neither training nor any other evaluation uses, under keys that follow from the seed and the
// row's two names: no two rows draw alike, and a row keeps its episodes when others come or go.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/evaluate/evaluator.h"

namespace broadloom {

inline constexpr char kAllRows[] = "all";      // in place of a stratum or perturbation: of all
inline constexpr char kNominal[] = "nominal";  // the perturbation that is none

struct Panel {
  std::string env_id;
  int episodes = 100;                      // of each row, from each seed
  std::vector<std::uint64_t> seeds = {1};  // distinct, below 2^63 as in TOML
  int max_episode_steps = 0;               // 0: the environment's own
  std::string strata_sampling = "sampled";
  Overrides env;  // options of the environment in every row, keys as Config::env_options
  struct Part {
    std::string name;
    Overrides options;  // keys as Config::env_options
  };
  std::vector<Part> strata;         // by name; none: one of no name, the environment as it stands
  std::vector<Part> perturbations;  // by name, without the nominal one

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("env_id", env_id, "Environment of the runs that are scored.");
    v("episodes", episodes, Range{1, 1 << 20}, "Episodes of each row, from each seed.");
    v("max_episode_steps", max_episode_steps, Range{0},
      "Time limit of an episode; 0: the environment's own.");
    v("strata_sampling", strata_sampling, Choices{{"sampled", "stratified"}},
      "How a row's episodes draw from its stratum: independently, or each bin equally often.");
  }
};

// One pair of a stratum and a perturbation.
struct PanelRow {
  std::string stratum, perturbation;  // stratum kAllRows where the panel has none
  Overrides env_options;
  std::vector<std::uint64_t> keys;  // of the streams, one a seed; below 2^53, as JSON keeps exactly
};

// The panel's rows, strata in order and within each the nominal perturbation first.
std::vector<PanelRow> panel_rows(const Panel& panel);

// A panel from TOML, checked down to the environment's options. kInvalidConfig, "name:line: what",
// with the nearest key where one is not known; kNotFound also for an unknown environment.
Result<Panel> read_panel(const std::string& path);
Result<Panel> parse_panel(std::string_view text, const std::string& name);

// Every key with its text, "strata.short.half_length" and "0.2..0.4"; from it, the same panel.
Overrides to_overrides(const Panel& panel);
Result<Panel> resolve_panel(const Overrides& overrides);

// The panel as a file, the same text for the same panel; and the hash of that text.
std::string panel_toml(const Panel& panel);
std::string panel_hash(const Panel& panel);

// kMismatch unless the panel is of the run's environment and every row's observations and actions
// are what the run's network takes and gives. kInvalidConfig where to play it takes more memory
// than the run is allowed, or than there is.
Status check_panel_fits(const Panel& panel, const Config& run);

// All rows played by one policy in one pass: [rows][seeds * episodes], seed after seed. Most likely
// actions, frozen normalisers; the same bits for any number of threads. The panel must fit.
Result<std::vector<std::vector<EvalEpisode>>> play_rows(const Panel& panel, const Policy& policy,
                                                        int threads,
                                                        const PlayProgress& on_progress = {});

}  // namespace broadloom
