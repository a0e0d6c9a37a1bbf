#include "broadloom/evaluate/panel_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "broadloom/core/hash.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/manifest.h"

namespace broadloom {
namespace {

// The checkpoint's path is relative to the run's folder, if there is one.
void describe_policy(const PolicyOrigin& origin, PanelResult& out) {
  out.run_dir = origin.run_dir;
  const std::size_t folder = origin.run_dir.empty() ? 0 : origin.run_dir.size() + 1;
  out.checkpoint = origin.checkpoint.substr(folder);
  out.checkpoint_hash = origin.hash;
  out.global_step = origin.global_step;
}

void describe_program(PanelResult& out) {
  const Manifest manifest = make_manifest({}, 0, 1, active_isa());
  out.version = manifest.version;
  out.revision = manifest.revision;
  out.binary_hash = program_hash();
  out.isa = manifest.isa;
}

// The rows' engines and models.
Result<std::string> engines_of(const Panel& panel) {
  std::vector<std::string> all;
  for (const PanelRow& row : panel_rows(panel)) {
    const Result<EnvSpec> spec = env_spec(panel.env_id, row.env_options);
    if (!spec.ok()) return spec.status();
    const std::string& engine = spec.value().engine;
    if (std::find(all.begin(), all.end(), engine) == all.end()) all.push_back(engine);
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

bool is_whole(const std::vector<EvalEpisode>& row) {
  return std::none_of(row.begin(), row.end(), [](const EvalEpisode& e) { return e.stopped; });
}

}  // namespace

std::vector<PanelGroup> panel_groups(const Panel& panel) {
  const std::vector<PanelRow> rows = panel_rows(panel);
  const std::size_t perturbations = panel.perturbations.size() + 1;
  std::vector<PanelGroup> groups;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    groups.push_back({rows[r].stratum, rows[r].perturbation, {r}});
  }
  for (std::size_t p = 0; panel.strata.size() > 1 && p < perturbations; ++p) {
    PanelGroup group{kAllRows, rows[p].perturbation, {}};
    for (std::size_t r = p; r < rows.size(); r += perturbations) group.rows.push_back(r);
    groups.push_back(std::move(group));
  }
  if (perturbations > 1) {
    PanelGroup overall{kAllRows, kAllRows, {}};
    for (std::size_t r = 0; r < rows.size(); ++r) overall.rows.push_back(r);
    groups.push_back(std::move(overall));
  }
  return groups;
}

PanelCount count_episodes(const PanelResult& result) {
  PanelCount count;
  for (const std::vector<EvalEpisode>& row : result.episodes) {
    count.asked += static_cast<std::int64_t>(row.size());
    count.ended +=
        std::count_if(row.begin(), row.end(), [](const EvalEpisode& e) { return !e.stopped; });
  }
  return count;
}

std::vector<EvalEpisode> episodes_of(const PanelResult& result, const PanelGroup& group) {
  std::vector<EvalEpisode> out;
  if (group.rows.size() > 1 &&
      !std::all_of(group.rows.begin(), group.rows.end(),
                   [&](std::size_t row) { return is_whole(result.episodes[row]); })) {
    return out;
  }
  for (const std::size_t row : group.rows) {
    std::copy_if(result.episodes[row].begin(), result.episodes[row].end(), std::back_inserter(out),
                 [](const EvalEpisode& episode) { return !episode.stopped; });
  }
  return out;
}

EvalResult score_of(const PanelResult& result, const PanelGroup& group) {
  EvalResult score = summarise(episodes_of(result, group), result.spec);
  score.global_step = result.global_step;
  return score;
}

Result<PanelResult> play_panel(const Panel& panel, const Policy& policy, int threads,
                               const PlayProgress& on_progress,
                               const std::function<bool()>& should_stop) {
  BROADLOOM_TRY(check_panel_fits(panel, policy.config));
  PanelResult out;
  out.panel = panel;
  describe_policy(policy.origin, out);
  describe_program(out);
  Result<EnvSpec> spec = env_spec(panel.env_id, panel.env);
  if (!spec.ok()) return spec.status();
  out.spec = spec.take();
  Result<std::string> engine = engines_of(panel);
  if (!engine.ok()) return engine.status();
  out.engine = engine.take();
  Result<std::vector<std::vector<EvalEpisode>>> episodes =
      play_rows(panel, policy, threads, on_progress, should_stop);
  if (!episodes.ok()) return episodes.status();
  out.episodes = episodes.take();
  for (std::vector<EvalEpisode>& row : out.episodes) {
    for (EvalEpisode& episode : row) episode.end.stratum = -1;
  }
  return out;
}

std::string panel_result_path(const RunFolder& folder, const Panel& panel) {
  return fmt::format("{}/panel-{}.json", folder.dir(), panel_hash(panel).substr(0, 8));
}

std::string partial_panel_path(const RunFolder& folder, const Panel& panel) {
  return fmt::format("{}/panel-{}.partial.json", folder.dir(), panel_hash(panel).substr(0, 8));
}

}  // namespace broadloom
