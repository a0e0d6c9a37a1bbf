#include "research/lab/frozen.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "broadloom/core/random.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/instruments/network_rows.h"
#include "broadloom/rollout/collect_fault.h"
#include "broadloom/rollout/collector.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"

namespace broadloom {
namespace {

constexpr int kPoolLooks = 64;
constexpr int kUnlimitedEpisode = 1000;

// Lanes of seeds. A block's lane is its number of steps, so no two shapes share a seed.
constexpr std::uint32_t kPoolLane = 0x80000000u;
constexpr std::uint32_t kDrawLane = 0x80000001u;

std::uint64_t seed_for(std::uint64_t seed, std::uint32_t lane, std::uint64_t round) {
  return Random(seed, Purpose::kLaboratory, lane, round).bits64();
}

Result<std::unique_ptr<VecEnv>> make_envs(const Policy& policy, int count, bool stagger,
                                          std::uint64_t seed, int max_episode_steps = 0) {
  VecEnvOptions options;
  options.num_envs = count;
  options.seed = seed;
  options.streams = StreamSet::kEvaluation;  // no stream of any training run
  options.stagger_starts = stagger;
  options.max_episode_steps =
      max_episode_steps > 0 ? max_episode_steps : policy.config.max_episode_steps;
  options.strata_sampling = strata_sampling(policy.config.strata_sampling);
  return make_vec_env(policy.config.env_id, policy.config.env_options, options);
}

// Copies the statistics, with sums for the shards of num_envs environments. Empty if there are
// none.
std::optional<ObsNormalizer> copy_of(const ObsNormalizer* normalizer, int num_envs) {
  if (normalizer == nullptr) return std::nullopt;
  return normalizer->with_shards(ShardPlan(num_envs, kTileRows).count());
}

// A collector for some environments, with constant normaliser statistics of its own.
struct Rollout {
  Rollout(const Policy& policy, VecEnv& envs, std::uint64_t seed, ThreadPool& pool)
      : obs_norm(copy_of(policy.obs_norm, envs.num_envs())),
        critic_norm(copy_of(policy.critic_norm, envs.num_envs())),
        actor(make_actor(policy)),
        collector(envs, policy.network, *actor,
                  {obs_norm ? &*obs_norm : nullptr, critic_norm ? &*critic_norm : nullptr}, pool,
                  seed) {}

  std::optional<ObsNormalizer> obs_norm, critic_norm;
  std::unique_ptr<Actor> actor;
  Collector collector;
};

std::unique_ptr<FrozenBlock> make_block(const Policy& policy, const VecEnv& envs, int num_steps) {
  BlockSizes sizes = block_sizes(envs, num_steps, envs.num_envs());
  sizes.critic = observation_type(critic_space(policy.config, envs.spec()));
  sizes.with_ends = false;  // the laboratory needs no episode outcomes
  sizes.state_size = static_cast<int>(policy.network.state_size());
  sizes.sequence = 1;  // keeps the states before each step, if there are any
  return std::make_unique<FrozenBlock>(sizes);
}

// Critic inputs for the present observations.
Observations critic_inputs(const VecEnv& envs, const Rollout& rollout, const RolloutBlock& block) {
  const bool own = block.has_critic();
  Observations seen(own ? block.critic : block.observation(),
                    static_cast<std::size_t>(envs.num_envs()));
  name_exceptions(envs.spec().id, own ? "observe_critic" : "observe", [&] {
    if (own) return envs.observe_critic(0, envs.num_envs(), seen.rows());
    envs.observe(0, envs.num_envs(), seen.rows());
  });
  const std::optional<ObsNormalizer>& normalizer = own ? rollout.critic_norm : rollout.obs_norm;
  if (normalizer)
    normalizer->normalize(seen.floats().data(), envs.num_envs(), seen.floats().data());
  return seen;
}

// Checks that states can be copied from environment to environment.
Status check_copyable(VecEnv& envs) {
  std::vector<TensorRef> state;
  BROADLOOM_TRY(with_simulator_errors([&] { state = state_of_simulator(envs, ""); }));
  bool by_row = envs.traits().saves_state;
  for (const TensorRef& tensor : state) {
    by_row = by_row && !tensor.shape.empty() && tensor.shape.front() == envs.num_envs();
  }
  if (by_row) return {};
  return invalid(fmt::format(
      "starts: got stationary, for which states of {} are copied from one environment to another, "
      "but its simulator does not save them, an environment a row; expected synchronised",
      envs.spec().id));
}

// Collecting has found observations and rewards finite: what is not is the network's. A gradient
// that is not a number would only say so at its end.
Status check_outputs(const Policy& policy, const RolloutBlock& block) {
  struct Numbers {
    const char* name;
    std::span<const float> of_envs;  // [steps, N]
    int first_step;
  };
  for (const Numbers& numbers :
       {Numbers{"log-probability", block.log_probs, 0}, Numbers{"value", block.values, 0},
        Numbers{"value", block.last_values, block.T}}) {
    const int place = first_not_finite(numbers.of_envs, 1);
    if (place < 0) continue;
    return {ErrorKind::kNumeric,
            fmt::format("a {} of the policy, which had {} steps of training, is not finite in "
                        "environment {} at its step {}; expected finite numbers. Take an earlier "
                        "checkpoint",
                        numbers.name, policy.origin.global_step, place % block.N,
                        numbers.first_step + place / block.N)};
  }
  return {};
}

void set_value_gaps(const Policy& policy, ThreadPool& pool, FrozenBlock& block) {
  NetworkRows network(policy.network, pool.threads());
  const BlockPieces pieces(policy.network, block.T, block.N, block.sequence_steps());
  std::vector<std::vector<float>> carried(static_cast<std::size_t>(pool.threads()),
                                          std::vector<float>(pieces.tile_states()));
  block.value_gaps.resize(block.size());
  pool.run(pieces.count(), [&](int piece, int thread) {
    std::vector<float>& states = carried[static_cast<std::size_t>(thread)];
    pieces.over(piece, block, {&states}, [&](std::size_t first, int rows) {
      const float* x =
          block.observations.view(first, static_cast<std::size_t>(rows), network.tile(thread));
      const TileWorkspace<float>& work = network.forward(thread, policy.params, nullptr, x, rows,
                                                         NetworkSide::kPolicy, nullptr, &states);
      for (int r = 0; r < rows; ++r) {
        const std::size_t i = first + static_cast<std::size_t>(r);
        const auto action = static_cast<std::size_t>(block.actions[i]);
        block.value_gaps[i] = block.values[i] - work.policy[action * kTileRows + r];
      }
    });
  });
}

std::size_t row_bytes(const TensorRef& tensor, int rows) {
  return tensor.bytes() / static_cast<std::size_t>(rows);
}

}  // namespace

// Copies first, because environments that cannot be copied mostly cannot be staggered either.
Status StartPool::check(const Policy& policy) {
  const Result<std::unique_ptr<VecEnv>> one = make_envs(policy, 1, false, 1);
  if (!one.ok()) return one.status();
  BROADLOOM_TRY(check_copyable(*one.value()));
  const Status staggered = make_envs(policy, 1, true, 1).status();
  if (staggered.ok()) return {};
  return invalid(fmt::format(
      "starts: got stationary, for which environments of {} begin in the middle of an episode, "
      "which they cannot do; expected synchronised",
      one.value()->spec().id));
}

Result<StartPool> StartPool::create(const Policy& policy, std::uint64_t seed, ThreadPool& pool,
                                    int num_envs) {
  const std::uint64_t pool_seed = seed_for(seed, kPoolLane, 0);
  Result<std::unique_ptr<VecEnv>> made = make_envs(policy, num_envs, true, pool_seed);
  if (!made.ok()) return made.status();
  VecEnv& envs = *made.value();
  const int limit = envs.spec().max_episode_steps;
  const int episode = limit > 0 ? limit : kUnlimitedEpisode;
  Rollout rollout(policy, envs, pool_seed, pool);
  std::int64_t step = 0;
  std::vector<float> states;  // of a policy with memory, after the last block
  const auto run_to = [&](std::int64_t end) -> Status {
    while (step < end) {
      const int steps = static_cast<int>(std::min<std::int64_t>(64, end - step));
      const std::unique_ptr<FrozenBlock> block = make_block(policy, envs, steps);
      if (!states.empty()) block->next_states = states;
      BROADLOOM_TRY(rollout.collector.collect(policy.params, step, *block));
      states = block->next_states;
      step += steps;
    }
    return {};
  };
  StartPool starts;
  starts.burn_in_ = 2 * episode;
  for (int look = 0; look < kPoolLooks; ++look) {
    const std::int64_t place = std::int64_t{4} * episode * look / kPoolLooks;
    BROADLOOM_TRY(run_to(starts.burn_in_ + place));
    BROADLOOM_TRY(starts.take(envs, states, std::int64_t{look} * num_envs));
  }
  return starts;
}

Status StartPool::take(VecEnv& envs, const std::vector<float>& states, std::int64_t first) {
  BROADLOOM_TRY(call_simulator(envs.spec().id, "capture", [&] { return envs.capture(); }));
  std::vector<TensorRef> state;
  BROADLOOM_TRY(with_simulator_errors([&] { state = state_of_simulator(envs, ""); }));
  tensors_.resize(state.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    const std::size_t bytes = row_bytes(state[i], envs.num_envs());
    tensors_[i].resize(static_cast<std::size_t>(first) * bytes + state[i].bytes());
    std::memcpy(tensors_[i].data() + static_cast<std::size_t>(first) * bytes, state[i].data,
                state[i].bytes());
  }
  memory_.insert(memory_.end(), states.begin(), states.end());
  size_ = first + envs.num_envs();
  return {};
}

Status StartPool::draw(std::uint64_t seed, VecEnv& envs, std::vector<float>& states) const {
  std::vector<TensorRef> state;
  BROADLOOM_TRY(with_simulator_errors([&] { state = state_of_simulator(envs, ""); }));
  const std::size_t width = memory_.size() / static_cast<std::size_t>(size_);
  for (int n = 0; n < envs.num_envs(); ++n) {
    Random random(seed, Purpose::kLaboratory, kDrawLane, static_cast<std::uint64_t>(n));
    const std::size_t start = random.below(static_cast<std::uint32_t>(size_));
    for (std::size_t i = 0; i < state.size(); ++i) {
      const std::size_t bytes = row_bytes(state[i], envs.num_envs());
      std::memcpy(static_cast<unsigned char*>(state[i].data) + n * bytes,
                  tensors_[i].data() + start * bytes, bytes);
    }
    std::copy_n(memory_.begin() + static_cast<std::ptrdiff_t>(start * width), width,
                states.begin() + static_cast<std::ptrdiff_t>(n * width));
  }
  return call_simulator(envs.spec().id, "state_restored", [&] { return envs.state_restored(); });
}

Result<std::unique_ptr<FrozenBlock>> BlockSource::collect(BlockShape shape, int copies,
                                                          std::uint64_t round) {
  const std::uint64_t seed = seed_for(seed_, static_cast<std::uint32_t>(shape.num_steps),
                                      (static_cast<std::uint64_t>(shape.num_envs) << 28) + round);
  Result<std::unique_ptr<VecEnv>> made =
      make_envs(policy_, shape.num_envs * copies, false, seed, max_episode_steps_);
  if (!made.ok()) return made.status();
  VecEnv& envs = *made.value();
  if (envs.traits().filler_rows) {
    return invalid(
        envs.spec().id +
        " takes a step to begin an episode: rows of a block that are no transitions, which the "
        "laboratory would take for some; give it environments that are reset at once");
  }
  std::unique_ptr<FrozenBlock> block = make_block(policy_, envs, shape.num_steps);
  if (starts_ != nullptr) BROADLOOM_TRY(starts_->draw(seed, envs, block->next_states));
  Rollout rollout(policy_, envs, seed, pool_);
  for (int n = 0; n < envs.num_envs(); ++n) {
    block->ages.push_back(static_cast<int>(envs.episode_step(n)));
  }
  const Status collected = rollout.collector.collect(policy_.params, 0, *block);
  if (!collected.ok()) return collected;
  if (policy_.reward_norm != nullptr) {
    policy_.reward_norm->scale(block->rewards.data(), block->size());
  }
  BROADLOOM_TRY(
      with_simulator_errors([&] { rollout.collector.bootstrap_values(policy_.params, *block); }));
  if (policy_.value_norm != nullptr) policy_.value_norm->denormalize(*block);
  BROADLOOM_TRY(check_outputs(policy_, *block));
  if (policy_.network.shape().action_values) set_value_gaps(policy_, pool_, *block);
  BROADLOOM_TRY(with_simulator_errors(
      [&] { block->last_seen_by_critic = critic_inputs(envs, rollout, *block); }));
  return block;
}

}  // namespace broadloom
