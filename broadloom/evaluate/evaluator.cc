#include "broadloom/evaluate/evaluator.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <new>
#include <vector>

#include "broadloom/config/settings.h"
#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/envs/registry.h"
#include "broadloom/math/random_rows.h"
#include "broadloom/nn/distributions.h"
#include "broadloom/rollout/block.h"

namespace broadloom {
namespace {

// Steps one shard of environments until each has ended its first episode.
class ShardEvaluation {
 public:
  ShardEvaluation(const EvalScene& scene, VecEnv& envs, const Policy& policy,
                  const Bf16Pair* bf16_weights, Shard shard, std::vector<EvalEpisode>& episodes)
      : scene_(scene),
        envs_(envs),
        policy_(policy),
        shard_(shard),
        episodes_(episodes),
        work_(policy.network.make_workspace<float>(bf16_weights)),
        raw_(observation_type(envs.spec().observation), rows()),
        final_(raw_.type(), rows()),
        seen_(raw_.size()),
        chosen_(static_cast<std::size_t>(envs.spec().action_size()) * kTileRows),
        draws_(chosen_.size()),
        normalisers_(kTileRows),
        actions_(rows() * envs.spec().action_size()),
        rewards_(rows()),
        terminated_(rows()),
        truncated_(rows()),
        ends_(rows()) {}

  void run() {
    std::vector<bool> over(rows(), false);
    std::size_t left = rows();
    envs_.observe(shard_.begin, shard_.end, raw_.rows());
    for (int t = 0; t < kLongestEvalEpisode && left > 0; ++t) {
      act(t);
      envs_.step(shard_.begin, shard_.end,
                 {actions_.data(), raw_.rows(), rewards_.data(), terminated_.data(),
                  truncated_.data(), final_.rows(), ends_.data()});
      for (std::size_t k = 0; k < rows(); ++k) {
        if (over[k]) continue;
        EvalEpisode& episode = episodes_[static_cast<std::size_t>(shard_.begin) + k];
        episode.episode_return += rewards_[k];
        episode.length += 1;
        if (terminated_[k] == 0 && truncated_[k] == 0) continue;
        episode.end = ends_[k];
        over[k] = true;
        --left;
      }
    }
  }

 private:
  std::size_t rows() const { return static_cast<std::size_t>(shard_.size()); }

  void act(int step) {
    const float* observations = raw_.view(0, rows(), seen_.data());
    if (policy_.obs_norm != nullptr) {
      policy_.obs_norm->normalize(observations, shard_.size(), seen_.data());
      observations = seen_.data();
    }
    policy_.network.forward(policy_.params, observations, shard_.size(), work_,
                            NetworkSide::kPolicy);
    if (scene_.actions == EvalActions::kSampled) {
      sample_actions(step);
    } else {
      take_most_likely();
    }
    hand_over_actions();
  }

  bool is_discrete() const { return envs_.spec().action.kind == SpaceKind::kDiscrete; }

  void take_most_likely() {
    const float* policy = work_.policy.data();
    if (is_discrete()) {
      categorical_mode(policy, policy_.network.shape().action_outputs, shard_.size(),
                       chosen_.data());
    } else {
      std::copy_n(policy, chosen_.size(), chosen_.data());
    }
  }

  // As the collector draws, but that episode i draws from Random(seed, kEvalAction, i, its step).
  void sample_actions(int step) {
    const int outputs = policy_.network.shape().action_outputs;
    const float* policy = work_.policy.data();
    const RandomRows streams{scene_.envs.seed, Purpose::kEvalAction,
                             static_cast<std::uint32_t>(shard_.begin),
                             static_cast<std::uint64_t>(step), shard_.size()};
    if (is_discrete()) {
      random_uniforms(streams, draws_.data());
      categorical_normalisers(policy, outputs, shard_.size(), normalisers_.data());
      categorical_sample(policy, normalisers_.data(), draws_.data(), outputs, shard_.size(),
                         chosen_.data());
    } else {
      random_normals(streams, outputs, draws_.data(), kTileRows);
      gaussian_sample(policy, policy_.params + policy_.network.log_std_offset(), draws_.data(),
                      outputs, shard_.size(), chosen_.data());
    }
  }

  // Row by row, and within their bounds.
  void hand_over_actions() {
    const Space& space = envs_.spec().action;
    const std::size_t size = static_cast<std::size_t>(envs_.spec().action_size());
    for (std::size_t k = 0; k < rows(); ++k) {
      for (std::size_t a = 0; a < size; ++a) {
        const float action = chosen_[a * kTileRows + k];
        actions_[k * size + a] =
            is_discrete() ? action : std::clamp(action, space.low[a], space.high[a]);
      }
    }
  }

  const EvalScene& scene_;
  VecEnv& envs_;
  const Policy& policy_;
  Shard shard_;
  std::vector<EvalEpisode>& episodes_;
  TileWorkspace<float> work_;
  Observations raw_, final_;
  std::vector<float> seen_;            // [k, D] as the network reads them
  std::vector<float> chosen_, draws_;  // [A, kTileRows]
  std::vector<float> normalisers_, actions_, rewards_;
  std::vector<std::uint8_t> terminated_, truncated_;
  std::vector<EpisodeEnd> ends_;
};

// Tells how far the episodes are, as threads play them.
class PlayedEpisodes {
 public:
  PlayedEpisodes(const std::vector<std::vector<EvalEpisode>>& episodes, const PlayProgress& tell)
      : tell_(tell) {
    for (const std::vector<EvalEpisode>& of_scene : episodes) {
      all_ += static_cast<std::int64_t>(of_scene.size());
    }
    add(0);
  }

  void add(std::int64_t count) {
    if (!tell_) return;
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    played_ += count;
    tell_(played_, all_);
  }

 private:
  const PlayProgress& tell_;
  std::mutex mutex_;
  std::int64_t played_ = 0, all_ = 0;
};

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

}  // namespace

const char* actions_name(EvalActions actions) {
  return actions == EvalActions::kSampled ? "sampled" : "most_likely";
}

Result<EvalActions> actions_of(std::string_view name) {
  for (const EvalActions actions : {EvalActions::kMostLikely, EvalActions::kSampled}) {
    if (name == actions_name(actions)) return actions;
  }
  return invalid(fmt::format(
      "actions: got '{}', expected most_likely or sampled (drawn as in training)", name));
}

EvalResult summarise(const std::vector<EvalEpisode>& episodes, const EnvSpec& spec) {
  EvalResult result;
  const double count = static_cast<double>(episodes.size());
  result.episodes = static_cast<int>(episodes.size());
  std::vector<double> returns;
  returns.reserve(episodes.size());
  for (const EvalEpisode& episode : episodes) {
    returns.push_back(episode.episode_return);
    result.mean_length += episode.length / count;
  }
  const Estimate mean = mean_of(returns);
  result.mean_return = mean.value;
  result.ci_low = mean.low;
  result.ci_high = mean.high;
  double squares = 0.0;
  for (const double x : returns) squares += (x - mean.value) * (x - mean.value);
  result.std_return = episodes.size() > 1 ? std::sqrt(squares / (count - 1.0)) : 0.0;
  count_outcomes(episodes, spec, result);
  return result;
}

Result<std::vector<std::vector<EvalEpisode>>> play_scenes(const std::vector<EvalScene>& scenes,
                                                          const Policy& policy, int threads,
                                                          const PlayProgress& on_progress) {
  struct Task {
    std::size_t scene;
    Shard shard;
  };
  std::vector<std::unique_ptr<VecEnv>> envs;
  std::vector<std::vector<EvalEpisode>> episodes;
  std::vector<Task> tasks;
  for (const EvalScene& scene : scenes) {
    Result<std::unique_ptr<VecEnv>> made =
        make_vec_env(scene.env_id, scene.env_options, scene.envs);
    if (!made.ok()) return made.status();
    const ShardPlan plan(scene.envs.num_envs, kTileRows);
    for (int s = 0; s < plan.count(); ++s) tasks.push_back({envs.size(), plan[s]});
    episodes.emplace_back(static_cast<std::size_t>(scene.envs.num_envs));
    envs.push_back(made.take());
  }
  AlignedVector<Bf16Pair> bf16_weights(policy.network.bf16_size());
  policy.network.refresh_bf16(policy.params, bf16_weights.data());
  ThreadPool pool(threads);
  std::atomic<bool> out_of_memory{false};
  PlayedEpisodes played(episodes, on_progress);
  pool.run(static_cast<int>(tasks.size()), [&](int t) {
    const Task& task = tasks[t];
    try {
      ShardEvaluation(scenes[task.scene], *envs[task.scene], policy, bf16_weights.data(),
                      task.shard, episodes[task.scene])
          .run();
      played.add(task.shard.size());
    } catch (const std::bad_alloc&) {  // tasks of a pool must not throw
      out_of_memory = true;
    }
  });
  if (out_of_memory) {
    return Status(ErrorKind::kIo,
                  "there is not enough memory to play the episodes; ask for fewer at a time");
  }
  return episodes;
}

Result<std::vector<EvalEpisode>> play_episodes(const Policy& policy, const EvalOptions& options) {
  const Config& config = policy.config;
  EvalScene scene{config.env_id, config.env_options, {}, options.actions};
  scene.envs.num_envs = options.episodes;
  scene.envs.seed = options.seed;
  scene.envs.streams = options.streams;
  scene.envs.max_episode_steps = config.max_episode_steps;
  scene.envs.strata_sampling = strata_sampling(config.strata_sampling);
  Result<std::vector<std::vector<EvalEpisode>>> played =
      play_scenes({scene}, policy, options.threads, options.on_progress);
  if (!played.ok()) return played.status();
  return std::move(played.value().front());
}

Result<EvalResult> evaluate_policy(const Policy& policy, const EvalOptions& options) {
  const Result<std::vector<EvalEpisode>> episodes = play_episodes(policy, options);
  if (!episodes.ok()) return episodes.status();
  // Of the environments that were played, which the registry made: a trainer may have others.
  const Result<EnvSpec> played = env_spec(policy.config.env_id, policy.config.env_options);
  if (!played.ok()) return played.status();
  EvalResult result = summarise(episodes.value(), played.value());
  result.global_step = policy.origin.global_step;
  result.training_return = policy.origin.training_return;
  return result;
}

}  // namespace broadloom
