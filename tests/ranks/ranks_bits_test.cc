// The bits contract of ranks: parameters, statistics, numbers and hashes equal those of one rank,
// for any number of ranks, and after a restore with another number.
// sanitizers: none (whole runs, whose parts have tests of their own)
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/instruments/registry.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/trainer.h"
#include "tests/env/observation_envs.h"
#include "tests/ranks/thread_ranks.h"

namespace broadloom {
namespace {

constexpr int kIterations = 4;

Config config_of(const std::string& env_id, const Overrides& overrides) {
  EXPECT_TRUE(register_observation_envs());
  Overrides all{{"env_id", env_id},       {"num_envs", "150"},    {"num_steps", "13"},
                {"num_minibatches", "2"}, {"update_epochs", "2"}, {"total_timesteps", "40000"},
                {"hidden_sizes", "16,8"}, {"hashes", "true"},     {"checkpoint_interval", "2"}};
  all.insert(all.end(), overrides.begin(), overrides.end());
  Result<Config> config = resolve_config(all);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.value();
}

void append(std::string& out, const void* data, std::size_t bytes) {
  out.append(static_cast<const char*>(data), bytes);
}

std::string state_of(Trainer& trainer) {
  std::string out;
  for (const TensorRef& tensor : trainer.state()) {
    out += tensor.name;
    append(out, tensor.data, tensor.bytes());
  }
  return out;
}

// The instruments' sums.
std::string instruments_of(Trainer& trainer) {
  std::string out;
  for (const TensorRef& tensor : trainer.instrument_state()) {
    out += tensor.name;
    append(out, tensor.data, tensor.bytes());
  }
  return out;
}

// All numbers of an iteration.
std::string numbers_of(const Trainer& trainer) {
  std::string out;
  const auto add = [&](const NumberInfo& info, auto value) {
    out += info.name;
    append(out, &value, sizeof(value));
  };
  visit_numbers(trainer.report(), add);
  if (trainer.instruments().measured()) trainer.instruments().visit_numbers(add);
  append(out, &trainer.hashes()->params, sizeof(std::uint64_t));
  for (const auto* hashes : {&trainer.hashes()->rows, &trainer.hashes()->columns}) {
    append(out, hashes->data(), hashes->size() * sizeof(hashes->front()));
  }
  return out;
}

struct Outcome {
  std::string state;                 // after the last iteration
  std::vector<std::string> numbers;  // of each
  std::vector<std::string> states;   // of every second one, with the instruments'
};

// start: a state to continue from; empty: none.
Outcome train(const Config& config, Ranks& ranks, int threads, const std::string& start = "",
              int iterations = kIterations) {
  Outcome out;
  Result<std::unique_ptr<Trainer>> made = Trainer::create(config, threads, ranks);
  EXPECT_TRUE(made.ok()) << made.status().message();
  if (!made.ok()) return out;
  Trainer& trainer = *made.value();
  trainer.hold_threads(threads);
  if (!start.empty() && ranks.is_first()) {
    const char* next = start.data();
    for (const TensorRef& tensor : trainer.state()) {
      next += tensor.name.size();
      std::memcpy(tensor.data, next, tensor.bytes());
      next += tensor.bytes();
    }
    EXPECT_TRUE(trainer.state_restored().ok());
  }
  EXPECT_TRUE(trainer.copy_first_rank_state().ok());
  for (int i = 1; i <= iterations; ++i) {
    const Status status = trainer.iterate();
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) return out;
    out.numbers.push_back(numbers_of(trainer));
    if (i % 2 != 0) continue;
    EXPECT_TRUE(trainer.capture().ok());
    out.states.push_back(state_of(trainer) + instruments_of(trainer));
  }
  out.state = state_of(trainer);
  return out;
}

class RanksBits : public ::testing::TestWithParam<std::pair<const char*, Overrides>> {
 protected:
  static Config config() { return config_of(GetParam().first, GetParam().second); }
  static void expect_equal(const Outcome& got, const Outcome& expected, const std::string& what) {
    EXPECT_TRUE(got.numbers == expected.numbers) << what;
    EXPECT_TRUE(got.states == expected.states) << what;
    EXPECT_TRUE(got.state == expected.state) << what;
  }
};

TEST_P(RanksBits, AreTheSameForAnyNumberOfRanksAndThreads) {
  const Outcome expected = train(config(), Ranks::alone(), 1);
  for (const int size : {2, 3, 4, 8}) {
    ThreadWorld world(size);
    world.run([&](Ranks& ranks) {
      const int threads = 1 + (size + ranks.rank()) % 3;  // of each, others
      expect_equal(train(config(), ranks, threads), expected,
                   "rank " + std::to_string(ranks.rank()) + " of " + std::to_string(size));
    });
  }
}

TEST_P(RanksBits, GoOnWithAnotherNumberOfRanks) {
  const Outcome whole = train(config(), Ranks::alone(), 1);
  std::string half;
  ThreadWorld three(3);
  three.run([&](Ranks& ranks) {
    const Outcome out = train(config(), ranks, 1, "", 2);
    if (ranks.is_first()) half = out.state;
  });
  for (const int size : {1, 2, 4}) {
    ThreadWorld world(size);
    world.run([&](Ranks& ranks) {
      EXPECT_TRUE(train(config(), ranks, 1, half, kIterations - 2).state == whole.state)
          << "rank " << ranks.rank() << " of " << size;
    });
  }
}

using Param = std::pair<const char*, Overrides>;
INSTANTIATE_TEST_SUITE_P(
    Runs, RanksBits,
    ::testing::Values(
        Param{"CartPole-v1", {{"max_episode_steps", "9"}}},
        Param{"CartPole-v1", {{"recurrent", "mingru"}, {"max_episode_steps", "9"}}},
        Param{"CartPole-v1", {{"recurrent", "lstm"}, {"max_episode_steps", "9"}}},
        Param{"CartPole-v1",
              {{"recurrent", "gru"},
               {"num_steps", "12"},
               {"sequence_length", "4"},
               {"max_episode_steps", "9"}}},
        Param{"CartPole-v1", {{"num_envs", "3"}, {"num_minibatches", "1"}}},
        Param{"CartPole-v1", {{"num_envs", "1"}, {"num_minibatches", "1"}}},
        Param{"CartPole-v1",
              {{"shared_encoder", "true"}, {"stagger_starts", "true"}, {"norm_obs", "true"}}},
        Param{"Pendulum-v1",
              {{"max_episode_steps", "7"},
               {"lr_schedule", "adaptive"},
               {"norm_obs", "true"},
               {"norm_reward", "true"},
               {"update_epochs", "1"},
               {"hidden_sizes", "200,150"}}},
        Param{"Pendulum-v1",
              {{"max_episode_steps", "7"},
               {"action_distribution", "beta"},
               {"lr_schedule", "adaptive"},
               {"kl_estimate", "analytic"},
               {"instruments", "gradient,policy,audit"}}},
        Param{"Pendulum-v1", {{"max_episode_steps", "7"}, {"action_distribution", "squashed"}}},
        Param{"Pendulum-v1", {{"max_episode_steps", "7"}, {"norm_value", "running"}}},
        Param{"Pendulum-v1", {{"max_episode_steps", "7"}, {"norm_value", "popart"}}},
        Param{"Pendulum-v1",
              {{"max_episode_steps", "7"}, {"proximal_decay", "0.9"}, {"norm_adv", "running"}}},
        Param{"Pendulum-v1", {{"max_episode_steps", "7"}, {"gae_weights", "normalised"}}},
        Param{"Pendulum-v1",
              {{"max_episode_steps", "7"}, {"sapg_policies", "3"}, {"sapg_clip", "paper"}}},
        Param{"CartPole-v1",
              {{"curriculum", "easy,hard"},
               {"curriculum_episodes", "2"},
               {"max_episode_steps", "20"},
               {"strata.easy.half_length", "0.4..0.6"},
               {"strata.hard.half_length", "0.05..0.1"},
               {"disturb.push_interval", "30"},
               {"disturb.obs_noise", "0.1"},
               {"disturb.action_delay", "2"}}},
        Param{"CartPole-v1",
              {{"instruments", "gradient,plasticity,policy,coverage,audit"},
               {"instrument_every", "2"},
               {"strata.a.half_length", "0.4..0.6"}}},
        // Constants that are almost never drawn alike, looked at in blocks that are not measured.
        Param{"CartPole-v1",
              {{"instruments", "audit"},
               {"instrument_every", "2"},
               {"max_episode_steps", "5"},
               {"strata.a.half_length", "0.5..0.5000000000000002"},
               {"norm_obs", "true"}}},
        Param{"MinAtar/Asterix-v1",
              {{"env.frame_stack", "3"}, {"hidden_sizes", "12"}, {"num_steps", "7"}}},
        Param{"CartPole-v1", {{"num_envs", "256"}, {"num_steps", "16"}, {"num_minibatches", "1"}}},
        Param{"CartPole-v1",
              {{"num_envs", "1024"},
               {"num_steps", "32"},
               {"num_minibatches", "1"},
               {"total_timesteps", "200000"}}},
        Param{"Windy-v0", {{"norm_obs", "true"}, {"norm_adv", "batch"}}},
        Param{"CartPole-v1", {{"algorithm", "pqn"}}},
        Param{"CartPole-v1", {{"algorithm", "ppo_rnd"}, {"max_episode_steps", "9"}}},
        Param{"Pendulum-v1",
              {{"shape_schedule", "50x13 @ 0, 150x7 @ 0.02, 20x13 @ 0.05"},
               {"num_envs", "50"},
               {"norm_obs", "true"}}}),
    [](const auto& info) { return "case" + std::to_string(info.index); });

}  // namespace
}  // namespace broadloom
