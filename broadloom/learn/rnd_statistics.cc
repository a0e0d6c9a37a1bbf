#include "broadloom/learn/rnd_statistics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "broadloom/core/random.h"
#include "broadloom/env/action_masks.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/math/chained_sum.h"
#include "broadloom/rollout/collect_fault.h"

namespace broadloom {
namespace {

// +-5 standard deviations, as in the paper and CleanRL.
constexpr double kClip = 5.0;
// Rewards are not clipped.
constexpr double kNoClip = 1e30;
// The paper's code begins with the same artificial sample as Gymnasium.
constexpr NormaliserRule kRule = NormaliserRule::kGymnasium;
// No environment has this lane.
constexpr std::uint32_t kSeedLane = 0xffffffffu;

// Plays environments with uniformly random actions.
class UniformPlay {
 public:
  UniformPlay(VecEnv& envs, std::uint64_t seed)
      : envs_(envs),
        seed_(seed),
        masks_(envs.spec(), count()),
        actions_(count() * static_cast<std::size_t>(envs.spec().action_size())),
        rewards_(count()),
        terminated_(count()),
        truncated_(count()),
        now_(observation_type(envs.spec().observation), count()),
        final_(now_),
        critic_(observation_type(envs.spec().critic_observation), count()),
        final_critic_(critic_) {}

  Status step(std::int64_t index) {
    const Space& space = envs_.spec().action;
    const std::size_t size = static_cast<std::size_t>(envs_.spec().action_size());
    masks_.read(envs_, 0, envs_.num_envs());
    for (std::size_t n = 0; n < count(); ++n) {
      Random random(seed_, Purpose::kRndStart, static_cast<std::uint32_t>(n),
                    static_cast<std::uint64_t>(index));
      draw_action(space, random, &actions_[n * size], masks_.row(n));
    }
    BROADLOOM_TRY(step_simulator(
        envs_, 0, envs_.num_envs(),
        {actions_.data(), now_.rows(), rewards_.data(), terminated_.data(), truncated_.data(),
         final_.rows(), nullptr, critic_.rows(), final_critic_.rows()}));
    return check(index + 1);
  }
  const Observations& observations() const { return now_; }

 private:
  std::size_t count() const { return static_cast<std::size_t>(envs_.num_envs()); }

  // A non-finite observation would make the statistics non-finite for ever.
  Status check(std::int64_t step) const {
    if (now_.type().dtype != Dtype::kF32) return {};  // every byte is a number
    const int env = first_not_finite(now_.floats(), now_.type().size);
    if (env < 0) return {};
    return not_finite(FaultPlace::kObservation,
                      fmt::format("environment {} of RND's random play", env), step);
  }

  VecEnv& envs_;
  std::uint64_t seed_;
  MaskRows masks_;
  std::vector<float> actions_, rewards_;
  std::vector<std::uint8_t> terminated_, truncated_;
  Observations now_, final_, critic_, final_critic_;
};

}  // namespace

RndStatistics::RndStatistics(const RndSettings& settings, int num_envs)
    : seed_(settings.seed),
      start_steps_(settings.start_steps),
      own_(settings.own_statistics),
      shards_(num_envs, kTileRows),
      observations_(settings.shape.observation_size, kClip, shards_.count(), kRule),
      rewards_(num_envs, settings.int_gamma, kNoClip, shards_.count(), kRule) {}

std::size_t RndStatistics::bytes(const RndSettings& settings, int num_envs) {
  return static_cast<std::size_t>(num_envs) * sizeof(double) +
         ObsNormalizer::bytes(settings.shape.observation_size,
                              ShardPlan(num_envs, kTileRows).count());
}

Status RndStatistics::begin_run(const VecEnv& envs, ObsNormalizer* policy_normalizer) {
  ObsNormalizer& statistics = own_ ? observations_ : *policy_normalizer;
  if (start_steps_ == 0 || statistics.statistics().count() >= 1.0) return {};
  VecEnvOptions options;
  options.num_envs = shards_[shards_.count() - 1].end;
  options.seed = Random(seed_, Purpose::kRndStart, kSeedLane, 0).bits64();
  const std::unique_ptr<VecEnv> others = make_another(envs, options);
  if (others == nullptr) {
    return invalid(
        "num_iterations_obs_norm_init: the observation statistics need random play in other "
        "environments, but this environment cannot make another of its kind; set it to 0, or "
        "implement EnvMaker::another()");
  }
  UniformPlay play(*others, seed_);
  const std::size_t width = observations_.places() / ObsNormalizer::kChains;
  std::vector<float> seen(kTileRows * width);
  for (std::int64_t step = 0; step < start_steps_; ++step) {
    BROADLOOM_TRY(play.step(step));
    for (int first = 0; first < options.num_envs; first += kTileRows) {
      const int rows = std::min(kTileRows, options.num_envs - first);
      play.observations().read(static_cast<std::size_t>(first), static_cast<std::size_t>(rows),
                               seen.data());
      statistics.accumulate(0, seen.data(), rows);
    }
  }
  statistics.commit();
  return {};
}

void RndStatistics::take_rewards(int shard, const RolloutBlock& block) {
  rewards_.accumulate(shard, shards_[shard].begin, shards_[shard].end, block.int_rewards.data(), {},
                      block.T, block.N);
}

void RndStatistics::finish_rewards(const RolloutBlock& block) {
  rewards_.commit();
  mean_reward_ =
      chained_sum(block.size(),
                  [&](std::size_t i) { return static_cast<double>(block.int_rewards[i]); }) /
      static_cast<double>(block.size());
}

double RndStatistics::reward_scale() const {
  return 1.0 / std::sqrt(rewards_.statistics().var()[0] + 1e-8);
}

void RndStatistics::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  observations_.append_state(prefix + ".observations", out);
  rewards_.append_state(prefix + ".rewards", out);
}

}  // namespace broadloom
