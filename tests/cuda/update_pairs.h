// Iterations of PPO and PQN by emulated kernels and by the library's collector and update, for
// tests that compare them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/portable_math.h"
#include "broadloom/env/batched_env.h"
#include "broadloom/env/tasks/classic/cart_pole.h"
#include "broadloom/env/tasks/classic/pendulum.h"
#include "broadloom/learn/epsilon_greedy.h"
#include "broadloom/learn/learner.h"
#include "broadloom/learn/ppo.h"
#include "broadloom/learn/pqn.h"
#include "broadloom/math/isa.h"
#include "broadloom/rollout/collector.h"
#include "cuda/collect/device_collector.h"
#include "cuda/collect/env_stepper.h"
#include "cuda/learn/device_update.h"
#include "cuda/sides/host_side.h"
#include "tests/cuda/emulated_runs.h"

namespace broadloom::cuda {

inline constexpr std::uint64_t kSeed = 4;

struct Case {
  int num_steps = 16, num_envs = 13;  // not a multiple of any tile
  std::vector<int> hidden_sizes{16, 16};
  Activation activation = Activation::kTanh;
  Normalisation normalisation = Normalisation::kNone;
  bool shared_encoder = false;
  int minibatches = 3;
  std::int64_t limit = 11;
  PpoSettings settings;
  int iterations = 3;  // the second records launches, the third repeats them
  int rows = 65536;    // of a minibatch processed at a time
  int multiprocessors = 2;
};

inline NetworkShape network_shape(const EnvSpec& spec, const Case& test_case,
                                  bool action_values = false) {
  NetworkShape shape;
  shape.observation_size = spec.observation_size();
  shape.action_kind = spec.action.kind;
  shape.action_outputs =
      spec.action.kind == SpaceKind::kDiscrete ? spec.action.size : spec.action_size();
  shape.hidden_sizes = test_case.hidden_sizes;
  shape.activation = test_case.activation;
  shape.normalisation = test_case.normalisation;
  shape.shared_encoder = test_case.shared_encoder;
  shape.log_std_init = -0.3;
  shape.action_values = action_values;
  return shape;
}

using Numbers = std::map<std::string, double>;

inline Numbers numbers_of(const Algorithm& algorithm) {
  Numbers numbers;
  algorithm.visit_numbers(
      [&](const NumberInfo& info, double value) { numbers[std::string(info.name)] = value; });
  return numbers;
}

// One algorithm on the host and by kernels.
struct PpoOnBoth {
  using Loss = PpoKernelLoss;
  using Reports = std::vector<StepReport<PpoSums>>;
  static constexpr bool kActionValues = false;
  static Loss loss(const Case& test_case) { return {test_case.settings.loss}; }
  static MinibatchSettings settings(const Case& test_case) {
    return {test_case.settings.update_epochs, test_case.settings.max_grad_norm,
            test_case.settings.adam_eps};
  }
  static AdvantageNorm norm(const Case& test_case) { return test_case.settings.norm_adv; }
  static std::unique_ptr<Actor> actor(const ActorCritic& network) {
    return std::make_unique<PolicySampler>(network);
  }
  static PolicyActing acting(const ActorCritic&) { return {}; }
  static std::unique_ptr<Algorithm> host(const ActorCritic& network, const Case& test_case,
                                         const RolloutBlock& block, ThreadPool& pool) {
    return std::make_unique<Ppo>(network, test_case.settings, static_cast<int>(block.size()),
                                 test_case.minibatches, block.D, block.A, pool);
  }
  static void check(const Reports& steps) {
    EXPECT_EQ(steps[0].sums.max_ratio_error, 0.0);
    EXPECT_EQ(steps[0].sums.approx_kl, 0.0);
    EXPECT_GT(steps.back().sums.max_ratio_error, 0.0);
  }
  // Sums over steps of means over samples, and totals.
  static Numbers numbers(const Reports& steps, const MinibatchCut& minibatches) {
    Numbers all;
    double least = 1.0, most = 1.0;
    int m = 0;
    for (const auto& [sums, norms] : steps) {
      const double samples = minibatches.size(m++ % minibatches.count());
      all["policy_loss"] += sums.policy_loss / samples;
      all["value_loss"] += sums.value_loss / samples;
      all["entropy"] += sums.entropy / samples;
      all["old_approx_kl"] += sums.old_approx_kl / samples;
      all["approx_kl"] += sums.approx_kl / samples;
      all["clipfrac"] += sums.clipped / samples;
      all["grad_norm"] += norms.clipped;
      all["ess"] += sums.ess_percent(samples);
      least = std::min(least, sums.min_ratio);
      most = std::max(most, sums.max_ratio);
    }
    for (auto& [name, mean] : all) mean /= static_cast<double>(steps.size());
    all["min_ratio"] = least;
    all["max_ratio"] = most;
    return all;
  }
};

struct PqnOnBoth {
  using Loss = PqnKernelLoss;
  using Reports = std::vector<StepReport<PqnSums>>;
  static constexpr bool kActionValues = true;
  static constexpr double kEpsilon = 0.3;
  static EpsilonSchedule schedule() { return {kEpsilon, kEpsilon, 1.0}; }
  static PqnSettings pqn(const Case& test_case) {
    PqnSettings settings;
    settings.gamma = test_case.settings.gamma;
    settings.gae_lambda = test_case.settings.gae_lambda;
    settings.epsilon = schedule();
    return settings;
  }
  static Loss loss(const Case& test_case) { return {pqn(test_case).vf_coef}; }
  static MinibatchSettings settings(const Case& test_case) {
    const PqnSettings settings = pqn(test_case);
    return {settings.update_epochs, settings.max_grad_norm, settings.adam_eps, Optimizer::kRadam};
  }
  static AdvantageNorm norm(const Case&) { return AdvantageNorm::kOff; }
  static std::unique_ptr<Actor> actor(const ActorCritic& network) {
    return std::make_unique<EpsilonGreedy>(network.shape().action_outputs, schedule());
  }
  static EpsilonActing acting(const ActorCritic& network) {
    return EpsilonActing::make(kEpsilon, network.shape().action_outputs);
  }
  static std::unique_ptr<Algorithm> host(const ActorCritic& network, const Case& test_case,
                                         const RolloutBlock& block, ThreadPool& pool) {
    return std::make_unique<Pqn>(network, pqn(test_case), static_cast<int>(block.size()),
                                 test_case.minibatches, block.D, pool);
  }
  static void check(const Reports& steps) {
    EXPECT_EQ(steps[0].sums.max_value_error, 0.0);
    EXPECT_GT(steps.back().sums.max_value_error, 0.0);
  }
  static Numbers numbers(const Reports& steps, const MinibatchCut& minibatches) {
    Numbers all;
    int m = 0;
    for (const auto& [sums, norms] : steps) {
      const double samples = minibatches.size(m++ % minibatches.count());
      all["td_loss"] += sums.td_loss / samples;
      all["q_values"] += sums.q_values / samples;
      all["grad_norm"] += norms.clipped;
    }
    for (auto& [name, mean] : all) mean /= static_cast<double>(steps.size());
    all["epsilon"] = kEpsilon;
    return all;
  }
};

template <class T>
std::vector<T> copied(const T* source, std::size_t count) {
  return std::vector<T>(source, source + count);
}

inline void expect_same_block(const RolloutBlock& host, const DeviceRollout& device) {
  const std::size_t all = host.size(), envs = static_cast<std::size_t>(host.N);
  ASSERT_EQ(device.S, host.S);
  EXPECT_EQ(copied(device.observations.floats, all * host.D),
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
template <class Env, class Both = PpoOnBoth>
void expect_the_same(const Case& test_case, FiberOrder order) {
  if (!has_common_bits(active_isa())) GTEST_SKIP() << "this processor's vectors do not fuse";
  const typename Env::Params params = Env::make_params({}).value();
  EnvSpec spec = Env::spec(params);
  spec.max_episode_steps = test_case.limit;
  const ActorCritic network(network_shape(spec, test_case, Both::kActionValues));
  ASSERT_TRUE(fits_kernels(network));
  VecEnvOptions options;
  options.num_envs = test_case.num_envs;
  options.seed = kSeed;
  options.max_episode_steps = test_case.limit;
  BatchedEnv<Env> envs(params, spec, options);
  ThreadPool pool(2);
  const std::unique_ptr<Actor> actor = Both::actor(network);
  Collector collector(envs, network, *actor, {}, pool, kSeed);
  RolloutBlock block(block_sizes(envs, test_case.num_steps, test_case.num_envs));
  const int batch = static_cast<int>(block.size());
  const std::unique_ptr<Algorithm> host = Both::host(network, test_case, block, pool);
  Learner learner(network.parameter_count());
  network.initialise(kSeed, learner.params.data());
  learner.learning_rate = 3e-3;

  const MinibatchCut minibatches{batch, test_case.minibatches};
  HostSide side(order, {.shared_bytes = shared_bytes_with(order),
                        .rows = test_case.rows,
                        .multiprocessors = test_case.multiprocessors});
  DeviceCollector<HostSide> device(
      side, envs, std::make_unique<EnvStepperOf<Env, HostSide>>(side, envs),
      device_network(network), {.shapes = {{test_case.num_envs, test_case.num_steps}}});
  DeviceUpdate<HostSide, typename Both::Loss> update(side, network, Both::loss(test_case),
                                                     Both::settings(test_case),
                                                     Both::norm(test_case), {minibatches});
  update.set_params(learner.params.data());

  for (int iteration = 1; iteration <= test_case.iterations; ++iteration) {
    const std::int64_t first = static_cast<std::int64_t>(iteration - 1) * test_case.num_steps;
    ASSERT_TRUE(collector.collect(learner.params.data(), first, block).ok());
    collector.bootstrap_values(learner.params.data(), block);
    host->compute_targets(block, 0, test_case.num_envs);
    ASSERT_TRUE(device.collect(Both::acting(network), update.params(), first).ok());
    device.compute_advantages(test_case.settings.gamma, test_case.settings.gae_lambda,
                              test_case.settings.truncation_mode);
    expect_same_block(block, device.block());

    const std::int64_t adam_steps = learner.adam_steps;
    double learning_rate = learner.learning_rate;
    ASSERT_TRUE(host->update(block, kSeed, iteration, learner).ok());
    update.begin(device.block(), kSeed, iteration, StepRules<typename Both::Loss::Sums>(),
                 learning_rate, adam_steps);
    std::vector<float> brought(network.parameter_count());
    const typename Both::Reports steps = update.finish(brought.data(), learning_rate);
    EXPECT_EQ(brought, copied(update.params(), network.parameter_count()));
    Both::check(steps);
    EXPECT_EQ(Both::numbers(steps, minibatches), numbers_of(*host));
    ASSERT_EQ(copied(update.params(), network.parameter_count()),
              copied(learner.params.data(), network.parameter_count()))
        << "iteration " << iteration;
  }
  EXPECT_EQ(side.repeats(), test_case.iterations - 1);  // all but the first update
}

}  // namespace broadloom::cuda
