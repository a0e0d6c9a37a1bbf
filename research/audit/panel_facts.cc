#include "research/audit/panel_facts.h"

#include <algorithm>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/setup/settings.h"
#include "research/audit/first_starts.h"

namespace broadloom {
namespace {

constexpr int kMostTrained = 512;  // most families of a row to compare
constexpr int kMostPlayed = 64;    // most episodes of a row and seed to compare

struct PanelStarts {
  double alike = 0.0;  // largest share of a row's starts that equal another one, of either kind
  double seen = 0.0, all = 0.0;
};

// Adds the starts of one row's episodes, in the panel and in training.
Status add_row(const Config& config, const Panel& panel, const PanelRow& row, PanelStarts& out) {
  VecEnvOptions options;
  options.num_envs = std::min(vec_env_options(config).families(), kMostTrained);
  options.seed = config.seed;
  options.max_episode_steps = panel.max_episode_steps;
  options.strata_sampling = strata_sampling(panel.strata_sampling);
  Result<std::vector<Fingerprint>> training =
      first_starts(panel.env_id, row.env_options, options, config.num_envs);
  if (!training.ok()) return training.status();
  if (training.value().empty()) return {};
  out.alike = std::max(out.alike, count_copies(training.value()).across);
  options.num_envs = std::min(panel.episodes, kMostPlayed);
  options.streams = StreamSet::kPanel;
  for (const std::uint64_t key : row.keys) {
    options.seed = key;
    Result<std::vector<Fingerprint>> played =
        first_starts(panel.env_id, row.env_options, options, config.num_envs);
    if (!played.ok()) return played.status();
    const double count = static_cast<double>(played.value().size());
    out.seen += share_seen(played.value(), training.value()) * count;
    out.all += count;
    out.alike = std::max(out.alike, count_copies(played.value()).across);
  }
  return {};
}

}  // namespace

Status add_panel_facts(const Config& config, const Panel& panel, RunFacts& facts) {
  const Result<EnvSpec> trained = env_spec(config.env_id, config.env_options);
  if (!trained.ok()) return trained.status();
  const std::vector<PanelRow> rows = panel_rows(panel);
  PanelStarts starts;
  double shared = 0.0;
  for (const PanelRow& row : rows) {
    BROADLOOM_TRY(add_row(config, panel, row, starts));
    const Result<EnvSpec> played = env_spec(panel.env_id, row.env_options);
    if (!played.ok()) return played.status();
    shared += played.value().world_seeds.overlap(trained.value().world_seeds) ? 1.0 : 0.0;
  }
  if (trained.value().world_seeds.count > 0) {
    facts.panel_worlds = shared / static_cast<double>(rows.size());
  }
  if (starts.all > 0.0 && starts.alike <= kMostStartsAlike) {
    facts.panel_starts = starts.seen / starts.all;
  }
  return {};
}

Status add_panel_facts(const Config& config, const RunFolder& folder, RunFacts& facts) {
  if (folder.dir().empty()) return {};
  const Result<Panel> panel = read_panel(folder.panel_path());
  if (!panel.ok() && panel.status().kind() == ErrorKind::kNotFound) return {};
  if (!panel.ok()) return panel.status();
  return add_panel_facts(config, panel.value(), facts);
}

}  // namespace broadloom
