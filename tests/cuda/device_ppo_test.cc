// Whole iterations of PPO by kernels, emulated, beside the library's collector and update: equal to
// the bit, in any order of threads.
#include "cuda/device_ppo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "broadloom/algo/learner.h"
#include "broadloom/env/batched_env.h"
#include "broadloom/envs/classic/cart_pole.h"
#include "broadloom/envs/classic/pendulum.h"
#include "broadloom/math/isa.h"
#include "broadloom/rollout/collector.h"
#include "cuda/device_rollout.h"
#include "cuda/host_side.h"

namespace broadloom::cuda {
namespace {

constexpr std::uint64_t kSeed = 4;

struct Case {
  int num_steps = 16, num_envs = 13;  // not a multiple of any tile
  std::vector<int> hidden_sizes{16, 16};
  Activation activation = Activation::kTanh;
  int minibatches = 3;
  std::int64_t limit = 11;
  PpoSettings settings;
  int iterations = 2;
};

NetworkShape network_shape(const EnvSpec& spec, const Case& of) {
  NetworkShape shape;
  shape.observation_size = spec.observation_size();
  shape.action_kind = spec.action.kind;
  shape.action_outputs =
      spec.action.kind == SpaceKind::kDiscrete ? spec.action.size : spec.action_size();
  shape.hidden_sizes = of.hidden_sizes;
  shape.activation = of.activation;
  shape.log_std_init = -0.3;
  return shape;
}

// What an update says of all its steps together, of numbers that both have.
struct Said {
  double policy_loss = 0, value_loss = 0, entropy = 0, old_approx_kl = 0, approx_kl = 0,
         clipfrac = 0, grad_norm = 0, ess = 0, min_ratio = 1, max_ratio = 1;
  bool operator==(const Said&) const = default;
};

Said said(const UpdateStats& of) {
  return {of.policy_loss, of.value_loss, of.entropy, of.old_approx_kl, of.approx_kl,
          of.clipfrac,    of.grad_norm,  of.ess,     of.min_ratio,     of.max_ratio};
}

Said said(const std::vector<StepReport>& steps, const Minibatches& minibatches) {
  Said all;
  int m = 0;
  for (const StepReport& step : steps) {
    const double samples = minibatches.size(m++ % minibatches.count());
    all.policy_loss += step.sums.policy_loss / samples;
    all.value_loss += step.sums.value_loss / samples;
    all.entropy += step.sums.entropy / samples;
    all.old_approx_kl += step.sums.old_approx_kl / samples;
    all.approx_kl += step.sums.approx_kl / samples;
    all.clipfrac += step.sums.clipped / samples;
    all.grad_norm += step.norm;
    all.ess += step.sums.ess_percent(samples);
    all.min_ratio = std::min(all.min_ratio, step.sums.min_ratio);
    all.max_ratio = std::max(all.max_ratio, step.sums.max_ratio);
  }
  for (double* mean : {&all.policy_loss, &all.value_loss, &all.entropy, &all.old_approx_kl,
                       &all.approx_kl, &all.clipfrac, &all.grad_norm, &all.ess}) {
    *mean /= static_cast<double>(steps.size());
  }
  return all;
}

template <class T>
std::vector<T> copied(const T* from, std::size_t count) {
  return std::vector<T>(from, from + count);
}

void expect_same_block(const RolloutBlock& host, const DeviceRollout& device) {
  const std::size_t all = host.size(), envs = static_cast<std::size_t>(host.N);
  ASSERT_EQ(device.S, host.S);
  EXPECT_EQ(copied(device.observations, all * host.D),
            copied(host.observations.floats().data(), all * host.D));
  EXPECT_EQ(copied(device.actions, all * host.A), host.actions);
  EXPECT_EQ(copied(device.log_probs, all), host.log_probs);
  EXPECT_EQ(copied(device.values, all), host.values);
  EXPECT_EQ(copied(device.rewards, all), host.rewards);
  EXPECT_EQ(copied(device.terminated, all), host.terminated);
  EXPECT_EQ(copied(device.truncated, all), host.truncated);
  EXPECT_EQ(copied(device.truncations, envs), host.truncations);
  EXPECT_EQ(copied(device.last_values, envs), host.last_values);
  for (int n = 0; n < host.N; ++n) {
    for (int s = 0; s < host.truncations[static_cast<std::size_t>(n)]; ++s) {
      const std::size_t place = host.final_index(n, s);
      EXPECT_EQ(device.final_values[place], host.final_values[place]);
    }
  }
  EXPECT_EQ(copied(device.advantages, all), host.advantages);
}

// iterations of both, side by side.
template <class Env>
void expect_the_same(const Case& of, FiberOrder order) {
  if (!has_common_bits(active_isa())) GTEST_SKIP() << "this processor's vectors do not fuse";
  const typename Env::Params params = Env::make_params({}).value();
  EnvSpec spec = Env::spec(params);
  spec.max_episode_steps = of.limit;
  const ActorCritic network(network_shape(spec, of));
  ASSERT_TRUE(fits_kernels(network));
  VecEnvOptions options;
  options.num_envs = of.num_envs;
  options.seed = kSeed;
  options.max_episode_steps = of.limit;
  BatchedEnv<Env> envs(params, spec, options);
  ThreadPool pool(2);
  const PolicySampler sampler(network);
  Collector collector(envs, network, sampler, {}, pool, kSeed);
  RolloutBlock block(block_sizes(envs, of.num_steps, of.num_envs));
  const int batch = static_cast<int>(block.size());
  Ppo ppo(network, of.settings, batch, of.minibatches, block.D, block.A, pool);
  Learner learner(network.parameter_count());
  network.initialise(kSeed, learner.params.data());
  learner.learning_rate = 3e-3;

  HostSide side(order);
  DeviceCollector<Env, HostSide> device(side, params, spec, device_network(network),
                                        {of.num_steps, of.num_envs, kSeed});
  DevicePpo<HostSide> update(side, network, of.settings, batch, of.minibatches);
  update.set_params(learner.params.data());
  const Minibatches minibatches(batch, of.minibatches);

  for (int iteration = 1; iteration <= of.iterations; ++iteration) {
    const std::int64_t first = static_cast<std::int64_t>(iteration - 1) * of.num_steps;
    ASSERT_TRUE(collector.collect(learner.params.data(), first, block).ok());
    collector.bootstrap_values(learner.params.data(), block);
    ppo.compute_targets(block, 0, of.num_envs);
    device.collect(update.params(), first);
    device.compute_advantages(of.settings.gamma, of.settings.gae_lambda,
                              of.settings.truncation_mode);
    expect_same_block(block, device.block());

    const std::int64_t adam_steps = learner.adam_steps;
    ASSERT_TRUE(ppo.update(block, kSeed, iteration, learner).ok());
    const std::vector<StepReport> steps =
        update.update(device.block(), kSeed, iteration, learner.learning_rate, adam_steps);
    EXPECT_EQ(steps[0].sums.max_ratio_error, 0.0);
    EXPECT_EQ(steps[0].sums.approx_kl, 0.0);
    EXPECT_GT(steps.back().sums.max_ratio_error, 0.0);
    EXPECT_EQ(said(steps, minibatches), said(ppo.stats()));
    ASSERT_EQ(copied(update.params(), network.parameter_count()),
              copied(learner.params.data(), network.parameter_count()))
        << "iteration " << iteration;
  }
}

constexpr FiberOrder kOrders[] = {FiberOrder::kForward, FiberOrder::kReversed,
                                  FiberOrder::kShuffled};

TEST(DevicePpo, LearnsCartPoleToTheHostsBits) {
  for (const FiberOrder order : kOrders) expect_the_same<CartPole>({}, order);
}

TEST(DevicePpo, LearnsPendulumToTheHostsBits) {
  for (const FiberOrder order : kOrders) expect_the_same<Pendulum>({}, order);
}

TEST(DevicePpo, TakesTheUsualWidths) {
  Case usual;
  usual.hidden_sizes = {64, 64};
  usual.num_envs = 40;  // several blocks of environments, and tiles of a partial gradient
  usual.num_steps = 20;
  usual.minibatches = 1;
  usual.iterations = 1;
  usual.settings.update_epochs = 2;
  expect_the_same<CartPole>(usual, FiberOrder::kShuffled);
}

TEST(DevicePpo, TakesWhatSharedMemoryDoesNotHold) {
  Case wide;
  wide.hidden_sizes = {128, 96};
  wide.iterations = 1;
  wide.settings.update_epochs = 1;
  ASSERT_TRUE(GradientKernel::spills(device_network(
      ActorCritic(network_shape(CartPole::spec(CartPole::make_params({}).value()), wide)))));
  expect_the_same<CartPole>(wide, FiberOrder::kShuffled);
}

TEST(DevicePpo, TakesOtherActivationsShapesAndLosses) {
  Case other;
  other.hidden_sizes = {24};
  other.activation = Activation::kElu;
  other.settings.loss.clip_vloss = false;
  other.settings.norm_adv = AdvantageNorm::kOff;
  other.settings.max_grad_norm = 0.0;
  expect_the_same<CartPole>(other, FiberOrder::kReversed);
  other.hidden_sizes = {};
  other.limit = 0;
  expect_the_same<CartPole>(other, FiberOrder::kForward);
  other.hidden_sizes = {8, 8, 8};
  other.activation = Activation::kRelu;
  expect_the_same<Pendulum>(other, FiberOrder::kShuffled);
}

TEST(DeviceNetwork, KnowsWhatDoesNotFit) {
  const EnvSpec spec = CartPole::spec(CartPole::make_params({}).value());
  NetworkShape shape = network_shape(spec, {});
  EXPECT_TRUE(fits_kernels(ActorCritic(shape)));
  shape.shared_encoder = true;
  EXPECT_FALSE(fits_kernels(ActorCritic(shape)));
  shape = network_shape(spec, {});
  shape.hidden_sizes = {129};
  EXPECT_FALSE(fits_kernels(ActorCritic(shape)));
  shape.hidden_sizes = {8, 8, 8, 8, 8};
  EXPECT_FALSE(fits_kernels(ActorCritic(shape)));
}

}  // namespace
}  // namespace broadloom::cuda
