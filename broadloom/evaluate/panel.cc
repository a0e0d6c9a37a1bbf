#include "broadloom/evaluate/panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "broadloom/core/escape.h"
#include "broadloom/core/hash.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/env_memory.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/strata.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/record/manifest.h"
#include "broadloom/setup/memory_plan.h"
#include "broadloom/setup/settings.h"

namespace broadloom {
namespace {

// 53 bits, which every JSON reader keeps.
std::uint64_t stream_key(std::uint64_t seed, const PanelRow& row) {
  return hash64(fmt::format("panel {} {} {}", seed, row.stratum, row.perturbation)) >> 11;
}

PanelRow make_row(const Panel& panel, const Panel::Part& stratum, const Panel::Part& perturbation) {
  PanelRow row{stratum.name, perturbation.name, panel.env, {}};
  for (const Panel::Part* part : {&stratum, &perturbation}) {
    for (const auto& added : part->options) {
      std::erase_if(row.env_options,
                    [&](const auto& option) { return option.first == added.first; });
      row.env_options.push_back(added);
    }
  }
  for (const std::uint64_t seed : panel.seeds) row.keys.push_back(stream_key(seed, row));
  return row;
}

// Bytes of all environments and episodes of a panel, which are played at once.
Result<std::size_t> panel_bytes(const Panel& panel) {
  std::size_t bytes = 0;
  for (const PanelRow& row : panel_rows(panel)) {
    VecEnvOptions options;
    options.only_described = true;
    options.max_episode_steps = panel.max_episode_steps;
    Result<std::unique_ptr<VecEnv>> env = make_vec_env(panel.env_id, row.env_options, options);
    if (!env.ok()) return env.status();
    std::size_t state = 0;
    BROADLOOM_TRY(with_simulator_errors([&] { state = state_bytes_per_env(*env.value()); }));
    const std::size_t episode = state + 2 * sizeof(EvalEpisode);
    bytes += row.keys.size() * static_cast<std::size_t>(panel.episodes) * episode;
  }
  return bytes;
}

// Checks the panel's memory together with the run's own.
Status check_panel_memory(const Panel& panel, const Config& run) {
  const Result<std::size_t> bytes = panel_bytes(panel);
  if (!bytes.ok()) return bytes.status();
  const Result<MemoryPlan> plan = plan_memory(run, 1);
  if (!plan.ok()) return plan.status();
  const std::size_t allowed = memory_allowed(run);
  if (allowed == 0 || bytes.value() + plan.value().total() <= allowed) return {};
  return {ErrorKind::kInvalidConfig,
          fmt::format(
              "playing the panel needs {:.1f} MB and the run {:.1f} MB, expected at most "
              "{:.1f} MB together (the run's memory_limit, or what this process may have); use "
              "fewer episodes than {} per row and seed",
              bytes.value() * 1e-6, plan.value().total() * 1e-6, allowed * 1e-6, panel.episodes)};
}

}  // namespace

std::vector<PanelRow> panel_rows(const Panel& panel) {
  std::vector<Panel::Part> strata = panel.strata, perturbations = panel.perturbations;
  if (strata.empty()) strata.push_back({kAllRows, {}});
  perturbations.insert(perturbations.begin(), {kNominal, {}});
  std::vector<PanelRow> rows;
  for (const Panel::Part& stratum : strata) {
    for (const Panel::Part& perturbation : perturbations) {
      rows.push_back(make_row(panel, stratum, perturbation));
    }
  }
  return rows;
}

Overrides to_overrides(const Panel& panel) {
  Overrides out;
  for (FieldInfo& field : list_fields(panel)) {
    out.emplace_back(std::move(field.name), std::move(field.value_text));
  }
  out.emplace_back("seeds", fmt::format("{}", fmt::join(panel.seeds, ",")));
  for (const auto& [key, text] : panel.env) out.emplace_back(fmt::format("env.{}", key), text);
  for (const Panel::Part& stratum : panel.strata) {
    out.insert(out.end(), stratum.options.begin(), stratum.options.end());
  }
  for (const Panel::Part& part : panel.perturbations) {
    for (const auto& [key, text] : part.options) {
      const std::string name =
          is_disturbance_key(key) ? key.substr(key.find('.') + 1) : fmt::format("env.{}", key);
      out.emplace_back(fmt::format("perturbations.{}.{}", part.name, name), text);
    }
  }
  return out;
}

namespace {

// Refuses a row that is played in environments of another source, such as another robot's model,
// since the panel leaves out options of the run.
Status check_source(const Panel& panel, const PanelRow& row, const EnvSpec& spec,
                    const Config& run) {
  Overrides all = row.env_options;
  for (const auto& option : run.env_options) {
    const auto same = [&](const auto& own) { return own.first == option.first; };
    if (std::none_of(row.env_options.begin(), row.env_options.end(), same)) all.push_back(option);
  }
  const Result<EnvSpec> whole = env_spec(panel.env_id, all);
  if (!whole.ok() || same_engine(whole.value().engine, spec.engine)) return {};
  if (same_source(whole.value().upstream, spec.upstream)) return {};
  return {ErrorKind::kMismatch,
          fmt::format("the panel's row {} / {} is played in '{}' and not in '{}', since the panel "
                      "leaves out options of the run, such as xml_file; set them in the panel's "
                      "[env]",
                      row.stratum, row.perturbation, one_line(spec.upstream),
                      one_line(whole.value().upstream))};
}

}  // namespace

Status check_panel_fits(const Panel& panel, const Config& run) {
  if (panel.env_id != run.env_id) {
    return {ErrorKind::kMismatch,
            fmt::format("the panel is for {}, but the run is of {}; use a panel for {}",
                        panel.env_id, run.env_id, run.env_id)};
  }
  const Result<EnvSpec> trained = env_spec(run.env_id, run.env_options);
  if (!trained.ok()) return trained.status();
  for (const PanelRow& row : panel_rows(panel)) {
    const Result<EnvSpec> spec = env_spec(panel.env_id, row.env_options);
    if (!spec.ok()) return spec.status();
    const EnvSpec &a = spec.value(), &b = trained.value();
    if (same_shape(a.observation, b.observation) && same_shape(a.action, b.action)) {
      BROADLOOM_TRY(check_source(panel, row, a, run));
      continue;
    }
    return {ErrorKind::kMismatch,
            fmt::format("the panel's row {} / {} has observations {} and actions {}, but the run's "
                        "network has observations {} and actions {}; set the environment options "
                        "that change them in the panel's [env]",
                        row.stratum, row.perturbation, shape_text(a.observation),
                        shape_text(a.action), shape_text(b.observation), shape_text(b.action))};
  }
  return check_panel_memory(panel, run);
}

Result<std::vector<std::vector<EvalEpisode>>> play_rows(const Panel& panel, const Policy& policy,
                                                        int threads,
                                                        const PlayProgress& on_progress,
                                                        const std::function<bool()>& should_stop) {
  EvalScene scene{panel.env_id, {}, {}, EvalActions::kMostLikely};
  scene.envs.num_envs = panel.episodes;
  scene.envs.streams = StreamSet::kPanel;
  scene.envs.max_episode_steps = panel.max_episode_steps;
  scene.envs.strata_sampling = strata_sampling(panel.strata_sampling);
  std::vector<EvalScene> scenes;
  for (PanelRow& row : panel_rows(panel)) {
    scene.env_options = std::move(row.env_options);
    for (std::size_t s = 0; s < row.keys.size(); ++s) {
      scene.envs.seed = row.keys[s];
      scene.name =
          fmt::format("row {} / {}, seed {}", row.stratum, row.perturbation, panel.seeds[s]);
      scenes.push_back(scene);
    }
  }
  Result<std::vector<std::vector<EvalEpisode>>> played =
      play_scenes(scenes, policy, threads, on_progress, should_stop);
  if (!played.ok()) return played.status();
  std::vector<std::vector<EvalEpisode>> rows(played.value().size() / panel.seeds.size());
  for (std::size_t s = 0; s < scenes.size(); ++s) {
    const std::vector<EvalEpisode>& episodes = played.value()[s];
    std::vector<EvalEpisode>& row = rows[s / panel.seeds.size()];
    row.insert(row.end(), episodes.begin(), episodes.end());
  }
  return rows;
}

}  // namespace broadloom
