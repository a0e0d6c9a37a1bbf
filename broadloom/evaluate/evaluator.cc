#include "broadloom/evaluate/evaluator.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/setup/settings.h"

namespace broadloom {
namespace {

void count_outcomes(const std::vector<EvalEpisode>& episodes, const EnvSpec& spec,
                    EvalResult& result) {
  for (const std::string& name : spec.end_reasons) result.reasons.push_back({name, 0});
  result.reasons.push_back({"unfinished", 0});
  std::int64_t successes = 0, failures = 0;
  const int time_limit = static_cast<int>(spec.end_reasons.size()) - 1;
  for (const EvalEpisode& episode : episodes) {
    const EpisodeEnd& end = episode.end;
    const bool terminated = end.reason >= 0 && end.reason != time_limit;
    failures += terminated && end.success == 0 ? 1 : 0;
    successes += end.success == 1 ? 1 : 0;
    const std::size_t unfinished = result.reasons.size() - 1;
    result.reasons[end.reason < 0 ? unfinished : static_cast<std::size_t>(end.reason)].count += 1;
  }
  const std::int64_t count = static_cast<std::int64_t>(episodes.size());
  const Estimate unknown = without_interval(std::numeric_limits<double>::quiet_NaN(), count);
  result.success_rate = spec.names_success ? success_rate(successes, count) : unknown;
  result.failure_rate = spec.names_success ? success_rate(failures, count) : unknown;
}

// Adds none if an episode comes from a version without measures.
void add_measures(const std::vector<EvalEpisode>& episodes, const EnvSpec& spec,
                  EvalResult& result) {
  for (std::size_t m = 0; m < spec.measures.size(); ++m) {
    std::vector<double> means;
    for (const EvalEpisode& episode : episodes) {
      if (episode.measures.size() != spec.measures.size()) return;
      means.push_back(episode.measures[m]);
    }
    result.measures.push_back({spec.measures[m], mean_of(means)});
  }
}

// The result without an episode.
EvalResult no_result() {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  EvalResult result;
  result.mean_return = result.ci_low = result.ci_high = kNone;
  result.std_return = result.mean_length = kNone;
  result.success_rate = result.failure_rate = without_interval(kNone, 0);
  return result;
}

}  // namespace

const char* actions_name(EvalActions actions) {
  return actions == EvalActions::kSampled ? "sampled" : "most_likely";
}

std::string actions_words(const std::set<std::string>& names) {
  const bool are_sampled = names.contains(actions_name(EvalActions::kSampled));
  if (!are_sampled) return "most likely actions";
  return names.size() > 1 ? "most likely or sampled actions" : "sampled actions";
}

Status read_actions(std::string_view name, std::optional<EvalActions>& actions) {
  if (name.empty()) return {};
  for (const EvalActions known : {EvalActions::kMostLikely, EvalActions::kSampled}) {
    if (name != actions_name(known)) continue;
    actions = known;
    return {};
  }
  return invalid(fmt::format(
      "actions: got '{}', expected most_likely or sampled (drawn as in training)", name));
}

EvalActions played_actions(const Policy& policy, const EvalOptions& options) {
  if (options.actions) return *options.actions;
  return policy.config.eval_actions == actions_name(EvalActions::kSampled)
             ? EvalActions::kSampled
             : EvalActions::kMostLikely;
}

EvalResult summarise(const std::vector<EvalEpisode>& episodes, const EnvSpec& spec) {
  EvalResult result;
  const double count = static_cast<double>(episodes.size());
  result.episodes = result.asked = static_cast<int>(episodes.size());
  std::vector<double> returns, lengths;
  for (const EvalEpisode& episode : episodes) {
    returns.push_back(episode.episode_return);
    lengths.push_back(episode.length);
  }
  result.mean_length = plain_mean(lengths);
  const Estimate mean = mean_of(returns);
  result.mean_return = mean.value;
  result.ci_low = mean.low;
  result.ci_high = mean.high;
  double squares = 0.0;
  for (const double x : returns) squares += (x - mean.value) * (x - mean.value);
  result.std_return = episodes.size() > 1 ? std::sqrt(squares / (count - 1.0)) : 0.0;
  count_outcomes(episodes, spec, result);
  add_measures(episodes, spec, result);
  return result;
}

Result<std::vector<EvalEpisode>> play_episodes(const Policy& policy, const EvalOptions& options) {
  const Config& config = policy.config;
  EvalScene scene{config.env_id,           config.env_options, {}, played_actions(policy, options),
                  options.longest_episode, options.watcher};
  scene.envs.num_envs = options.episodes;
  scene.envs.seed = options.seed;
  scene.envs.streams = options.streams;
  scene.envs.max_episode_steps = config.max_episode_steps;
  scene.envs.strata_sampling = strata_sampling(config.strata_sampling);
  scene.envs.view = options.view;
  Result<std::vector<std::vector<EvalEpisode>>> played =
      play_scenes({scene}, policy, options.threads, options.on_progress, options.should_stop);
  if (!played.ok()) return played.status();
  return std::move(played.value().front());
}

Result<EvalResult> evaluate_policy(const Policy& policy, const EvalOptions& options) {
  Result<std::vector<EvalEpisode>> episodes = play_episodes(policy, options);
  if (!episodes.ok()) return episodes.status();
  std::erase_if(episodes.value(), [](const EvalEpisode& episode) { return episode.stopped; });
  // The spec of the registry's environments, which were played; a trainer may have others.
  const Result<EnvSpec> played = env_spec(policy.config.env_id, policy.config.env_options);
  if (!played.ok()) return played.status();
  EvalResult result =
      episodes.value().empty() ? no_result() : summarise(episodes.value(), played.value());
  result.asked = options.episodes;
  result.actions = played_actions(policy, options);
  result.engine = played.value().engine;
  result.global_step = policy.origin.global_step;
  result.training_return = policy.origin.training_return;
  return result;
}

}  // namespace broadloom
