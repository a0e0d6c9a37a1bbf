#include "broadloom/train/evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "broadloom/core/thread_pool.h"
#include "broadloom/envs/registry.h"
#include "broadloom/nn/distributions.h"
#include "broadloom/rollout/block.h"
#include "broadloom/train/settings.h"

namespace broadloom {
namespace {

constexpr int kLongestEpisode = 10000;

// Steps one shard of environments until each has ended its first episode.
class ShardEvaluation {
 public:
  ShardEvaluation(VecEnv& envs, const ActorCritic& network, const float* params,
                  const Bf16Pair* bf16_weights, const ObsNormalizer* observations, Shard shard,
                  std::vector<EvalEpisode>& episodes)
      : envs_(envs),
        network_(network),
        params_(params),
        normalizer_(observations),
        shard_(shard),
        episodes_(episodes),
        work_(network.make_workspace<float>(bf16_weights)),
        raw_(rows() * envs.spec().observation_size()),
        seen_(raw_.size()),
        final_(raw_.size()),
        actions_(rows() * envs.spec().action_size()),
        rewards_(rows()),
        terminated_(rows()),
        truncated_(rows()),
        ends_(rows()) {}

  void run() {
    std::vector<bool> over(rows(), false);
    std::size_t left = rows();
    envs_.observe(shard_.begin, shard_.end, raw_.data());
    for (int t = 0; t < kLongestEpisode && left > 0; ++t) {
      act();
      envs_.step(shard_.begin, shard_.end,
                 {actions_.data(), raw_.data(), rewards_.data(), terminated_.data(),
                  truncated_.data(), final_.data(), ends_.data()});
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

  void act() {
    const Space& space = envs_.spec().action;
    const int outputs = network_.shape().action_outputs;
    const float* observations = raw_.data();
    if (normalizer_ != nullptr) {
      normalizer_->normalize(raw_.data(), shard_.size(), seen_.data());
      observations = seen_.data();
    }
    network_.forward(params_, observations, shard_.size(), work_);
    const float* policy = work_.policy.data();
    if (space.kind == SpaceKind::kDiscrete) {
      categorical_mode(policy, outputs, shard_.size(), actions_.data());
      return;
    }
    for (std::size_t k = 0; k < rows(); ++k) {
      for (int a = 0; a < outputs; ++a) {
        actions_[k * outputs + a] =
            std::clamp(policy[a * kTileRows + k], space.low[a], space.high[a]);
      }
    }
  }

  VecEnv& envs_;
  const ActorCritic& network_;
  const float* params_;
  const ObsNormalizer* normalizer_;
  Shard shard_;
  std::vector<EvalEpisode>& episodes_;
  TileWorkspace<float> work_;
  std::vector<float> raw_, seen_, final_, actions_, rewards_;
  std::vector<std::uint8_t> terminated_, truncated_;
  std::vector<EpisodeEnd> ends_;
};

void count_outcomes(const std::vector<EvalEpisode>& episodes, const EnvSpec& spec,
                    EvalResult& result) {
  for (const std::string& name : spec.end_reasons) result.reasons.push_back({name, 0});
  result.reasons.push_back({"unfinished", 0});
  std::int64_t successes = 0;
  for (const EvalEpisode& episode : episodes) {
    const int reason = episode.end.reason;
    (reason < 0 ? result.reasons.back() : result.reasons[reason]).count += 1;
    successes += episode.end.success == 1 ? 1 : 0;
  }
  const std::int64_t count = static_cast<std::int64_t>(episodes.size());
  result.success_rate = spec.names_success
                            ? success_rate(successes, count)
                            : without_interval(std::numeric_limits<double>::quiet_NaN(), count);
}

}  // namespace

EvalResult summarise(const std::vector<EvalEpisode>& episodes, const EnvSpec& spec) {
  EvalResult result;
  const double count = static_cast<double>(episodes.size());
  result.episodes = static_cast<int>(episodes.size());
  for (const EvalEpisode& episode : episodes) {
    result.mean_return += episode.episode_return / count;
    result.mean_length += episode.length / count;
  }
  double squares = 0.0;
  for (const EvalEpisode& episode : episodes) {
    squares += std::pow(episode.episode_return - result.mean_return, 2.0);
  }
  result.std_return = episodes.size() > 1 ? std::sqrt(squares / (count - 1.0)) : 0.0;
  const double half = 1.96 * result.std_return / std::sqrt(count);
  result.ci_low = result.mean_return - half;
  result.ci_high = result.mean_return + half;
  count_outcomes(episodes, spec, result);
  return result;
}

Result<std::vector<EvalEpisode>> play_episodes(const Config& config, const ActorCritic& network,
                                               const float* params,
                                               const ObsNormalizer* observations,
                                               const EvalOptions& options) {
  VecEnvOptions env_options;
  env_options.num_envs = options.episodes;
  env_options.seed = options.seed;
  env_options.evaluation = true;
  env_options.max_episode_steps = config.max_episode_steps;
  env_options.strata_sampling = strata_sampling(config);
  Result<std::unique_ptr<VecEnv>> envs =
      make_vec_env(config.env_id, config.env_options, env_options);
  if (!envs.ok()) return envs.status();
  Bf16Buffer bf16_weights(network.bf16_size());
  network.refresh_bf16(params, bf16_weights.data());
  const ShardPlan plan(options.episodes, kTileRows);
  std::vector<EvalEpisode> episodes(static_cast<std::size_t>(options.episodes));
  ThreadPool pool(options.threads);
  pool.run(plan.count(), [&](int s) {
    ShardEvaluation(*envs.value(), network, params, bf16_weights.data(), observations, plan[s],
                    episodes)
        .run();
  });
  return episodes;
}

Result<EvalResult> evaluate_policy(const Config& config, const ActorCritic& network,
                                   const float* params, const ObsNormalizer* observations,
                                   const EvalOptions& options) {
  const Result<EnvSpec> spec = env_spec(config.env_id, config.env_options);
  if (!spec.ok()) return spec.status();
  const Result<std::vector<EvalEpisode>> episodes =
      play_episodes(config, network, params, observations, options);
  if (!episodes.ok()) return episodes.status();
  return summarise(episodes.value(), spec.value());
}

}  // namespace broadloom
