// The bits contract: same parameters and statistics for any thread count, with evaluation and
// instruments on or off, and after a save and restore at any iteration.
// sanitizers: address, threads
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/evaluate/evaluator.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/learn/gradient_cut.h"
#include "broadloom/train/trainer.h"
#include "tests/support/release_only.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

Config bits_config(const std::string& env_id, const Overrides& overrides) {
  Overrides all{{"env_id", env_id},       {"num_envs", "37"},     {"num_steps", "13"},
                {"num_minibatches", "3"}, {"update_epochs", "2"}, {"total_timesteps", "5000"},
                {"hidden_sizes", "16,8"}};
  return resolved(add_overrides(all, overrides));
}

// Each iteration chooses a number of threads, and that many work.
TEST(ActiveRounds, AnIterationRunsWithTheThreadsThatWereChosen) {
  const std::unique_ptr<Trainer> trainer = trainer_of(bits_config("CartPole-v1", {}), 3);
  for (const int threads : {2, 1, 3}) {
    trainer->hold_threads(threads);
    run(*trainer, 1);
    EXPECT_EQ(trainer->pool().active(), threads);
  }
}

class Bits : public ::testing::TestWithParam<std::pair<const char*, Overrides>> {
 protected:
  Config config() const { return bits_config(GetParam().first, GetParam().second); }
};

TEST_P(Bits, AreTheSameForAnyNumberOfThreads) {
  std::string expected;
  for (const int threads : {1, 2, 5}) {
    std::unique_ptr<Trainer> trainer = trainer_of(config(), threads);
    run(*trainer, 4);
    if (threads == 1) expected = bytes_of(*trainer);
    EXPECT_EQ(bytes_of(*trainer), expected) << threads << " threads";
  }
}

// As on a machine with changing load.
TEST_P(Bits, AreTheSameWhileThreadsComeAndGo) {
  std::unique_ptr<Trainer> alone = trainer_of(config(), 1);
  std::unique_ptr<Trainer> changing = trainer_of(config(), 5);
  for (const int threads : {5, 1, 3, 2, 1, 4}) {
    changing->hold_threads(threads);
    run(*alone, 1);
    run(*changing, 1);
  }
  EXPECT_EQ(bytes_of(*changing), bytes_of(*alone));
}

// Gradients in so many lanes: even runs of them for the threads, and what is left over; lanes that
// are added up by whoever made them, of a network too large for that, of one whose sides have an
// encoder in common, and of a minibatch that one thread works out.
TEST(BitsOfLanes, AreTheSameForAnyNumberOfThreads) {
  RELEASE_ONLY("a whole run: its parts have tests of their own");
  using Options = std::vector<std::pair<std::string, std::string>>;
  for (const auto& [lanes, options] :
       std::vector<std::pair<int, Options>>{{5, {{"num_envs", "80"}}},
                                            {6, {{"num_envs", "96"}}},
                                            {16, {{"num_envs", "256"}}},
                                            {5, {{"num_envs", "160"}, {"hidden_sizes", "200,150"}}},
                                            {6, {{"num_envs", "96"}, {"shared_encoder", "true"}}},
                                            {1, {{"num_envs", "1"}}}}) {
    Options all = options;
    all.insert(all.end(),
               {{"num_steps", "8"}, {"num_minibatches", "1"}, {"total_timesteps", "10000"}});
    const Config config = bits_config("CartPole-v1", all);
    std::string expected;
    for (const int threads : {1, 2, 3, 5, 8}) {
      std::unique_ptr<Trainer> trainer = trainer_of(config, threads);
      const int samples = static_cast<int>(config.batch_size());
      ASSERT_EQ(partial_gradient_count(samples, trainer->network().parameter_count()), lanes);
      run(*trainer, 4);
      if (threads == 1) expected = bytes_of(*trainer);
      EXPECT_EQ(bytes_of(*trainer), expected) << threads << " threads, " << lanes << " lanes";
    }
  }
}

TEST_P(Bits, AreTheSameWithEvaluationBetween) {
  std::unique_ptr<Trainer> plain = trainer_of(config(), 1);
  std::unique_ptr<Trainer> evaluated = trainer_of(config(), 1);
  for (int i = 0; i < 3; ++i) {
    run(*plain, 1);
    run(*evaluated, 1);
    const Result<EvalResult> result =
        evaluate_policy(evaluated->policy(), {.episodes = 5, .seed = 1, .threads = 2});
    ASSERT_TRUE(result.ok());
  }
  EXPECT_EQ(bytes_of(*plain), bytes_of(*evaluated));
}

// Names and bits of the instruments' numbers.
std::string said_by_instruments(const Trainer& trainer) {
  std::string out;
  trainer.instruments().visit_numbers([&](const NumberInfo& info, double value) {
    out += info.name;
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  });
  return out;
}

// The release build compares the bits. A sanitizer runs the same code once alone and once shared.
#ifdef BROADLOOM_SANITIZED_BUILD
const std::vector<int> kEvery = {1}, kWatchedThreads = {1, 5};
#else
const std::vector<int> kEvery = {1, 3}, kWatchedThreads = {1, 2, 5};
#endif

TEST_P(Bits, AreTheSameWithInstrumentsForAnyNumberOfThreads) {
  std::unique_ptr<Trainer> plain = trainer_of(config(), 1);
  run(*plain, 4);
  const std::string expected = bytes_of(*plain);
  for (const int every : kEvery) {
    Config watched_config = config();
    watched_config.instruments = config().sapg_policies == 1
                                     ? instrument_names()
                                     : std::vector<std::string>{"plasticity", "coverage"};
    watched_config.instrument_every = every;
    std::string numbers;
    for (const int threads : kWatchedThreads) {
      std::unique_ptr<Trainer> watched = trainer_of(watched_config, threads);
      run(*watched, 4);
      EXPECT_EQ(bytes_of(*watched), expected) << threads << " threads, every " << every;
      EXPECT_EQ(watched->instruments().measured(), every == 1);
      if (threads == 1) numbers = said_by_instruments(*watched);
      EXPECT_EQ(said_by_instruments(*watched), numbers) << threads << " threads, every " << every;
    }
    EXPECT_NE(numbers, "");
  }
}

TEST_P(Bits, AreTheSameAfterARestoreAtAnyIteration) {
  std::unique_ptr<Trainer> whole = trainer_of(config(), 1);
  run(*whole, 5);
  const std::string expected = bytes_of(*whole);
  for (int cut = 0; cut < 5; ++cut) {
    std::unique_ptr<Trainer> before = trainer_of(config(), 1);
    run(*before, cut);
    std::unique_ptr<Trainer> after = trainer_of(config(), 2);
    const std::vector<TensorRef> source = before->state();
    const std::vector<TensorRef> target = after->state();
    ASSERT_EQ(source.size(), target.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
      ASSERT_EQ(source[i].name, target[i].name);
      ASSERT_EQ(source[i].bytes(), target[i].bytes());
      std::memcpy(target[i].data, source[i].data, source[i].bytes());
    }
    ASSERT_TRUE(after->state_restored().ok());
    run(*after, 5 - cut);
    EXPECT_EQ(bytes_of(*after), expected) << "restored after iteration " << cut;
  }
}

TEST_P(Bits, ChangeWithTheSeed) {
  Config other = config();
  other.seed = 2;
  std::unique_ptr<Trainer> a = trainer_of(config(), 1);
  std::unique_ptr<Trainer> b = trainer_of(other, 1);
  run(*a, 2);
  run(*b, 2);
  EXPECT_NE(std::memcmp(a->params(), b->params(), a->network().parameter_count() * sizeof(float)),
            0);
  EXPECT_NE(a->block().rewards.size() + a->report().global_step, 0u);
}

using Param = std::pair<const char*, Overrides>;
INSTANTIATE_TEST_SUITE_P(
    Runs, Bits,
    ::testing::Values(
        Param{"CartPole-v1", {{"max_episode_steps", "9"}}},
        Param{"CartPole-v1",
              {{"shared_encoder", "true"}, {"stagger_starts", "true"}, {"norm_obs", "true"}}},
        Param{"Pendulum-v1", {{"max_episode_steps", "7"}, {"lr_schedule", "adaptive"}}},
        Param{"Pendulum-v1",
              {{"max_episode_steps", "40"}, {"stagger_starts", "true"}, {"stagger_by", "age"}}},
        Param{"Pendulum-v1",
              {{"max_episode_steps", "7"},
               {"action_distribution", "squashed"},
               {"std_form", "state_dependent"}}},
        Param{"Pendulum-v1",
              {{"max_episode_steps", "7"},
               {"action_distribution", "beta"},
               {"lr_schedule", "adaptive"},
               {"kl_estimate", "analytic"}}},
        Param{"Pendulum-v1",
              {{"max_episode_steps", "7"}, {"std_form", "sde"}, {"sde_sample_freq", "3"}}},
        Param{"Pendulum-v1",
              {{"max_episode_steps", "7"},
               {"mirror_samples", "true"},
               {"mirror_coef", "0.5"},
               {"norm_obs", "true"}}},
        Param{"CartPole-v1", {{"shared_encoder", "true"}, {"mirror_samples", "true"}}},
        Param{"Golf-v0", {{"max_episode_steps", "7"}, {"shared_encoder", "true"}}},
        Param{"Golf-v0", {{"max_episode_steps", "7"}, {"std_form", "sde"}}},
        Param{"TicTacToe-v0", {{"norm_obs", "true"}, {"max_episode_steps", "5"}}},
        Param{"Pendulum-v1", {{"max_episode_steps", "7"}, {"norm_value", "running"}}},
        Param{"CartPole-v1", {{"shared_encoder", "true"}, {"norm_value", "popart"}}},
        Param{"Pendulum-v1",
              {{"max_episode_steps", "7"}, {"proximal_decay", "0.9"}, {"norm_adv", "running"}}},
        Param{"CartPole-v1", {{"shared_encoder", "true"}, {"proximal_decay", "0.9"}}},
        Param{"CartPole-v1", {{"max_episode_steps", "9"}, {"gae_weights", "normalised"}}},
        Param{"Pendulum-v1",
              {{"num_envs", "39"},
               {"max_episode_steps", "7"},
               {"sapg_policies", "3"},
               {"sapg_entropy_scale", "0.1"},
               {"norm_obs", "true"},
               {"norm_value", "running"},
               {"lr_schedule", "adaptive"},
               {"kl_estimate", "analytic"}}},
        Param{"CartPole-v1",
              {{"num_envs", "36"},
               {"max_episode_steps", "9"},
               {"shared_encoder", "true"},
               {"sapg_policies", "4"},
               {"sapg_followers", "2"},
               {"sapg_clip", "paper"}}},
        Param{"FrozenLake-v1", {{"seed_families", "1"}, {"max_episode_steps", "9"}}},
        Param{"CartPole-v1",
              {{"num_envs", "36"},
               {"seed_families", "4"},
               {"stagger_starts", "true"},
               {"strata_sampling", "stratified"},
               {"strata.wide.half_length", "0.2..1"},
               {"strata.wide.weight", "3"},
               {"strata.narrow.half_length", "0.45..0.55"},
               {"strata.narrow.force", "9..11"}}},
        Param{"CartPole-v1",
              {{"num_envs", "36"},
               {"num_steps", "40"},
               {"total_timesteps", "20000"},
               {"max_episode_steps", "20"},
               {"seed_families", "4"},
               {"curriculum", "easy,hard"},
               {"curriculum_episodes", "2"},
               {"strata.easy.half_length", "0.4..0.6"},
               {"strata.hard.half_length", "0.05..0.1"},
               {"disturb.push_interval", "30"}}},
        Param{"Pendulum-v1",
              {{"max_episode_steps", "7"},
               {"norm_obs", "true"},
               {"strata.a.max_torque", "1..3"},
               {"strata.a.mass", "0.8..1.2"}}},
        Param{"CartPole-v1",
              {{"max_episode_steps", "9"},
               {"disturb.obs_noise", "0.1"},
               {"disturb.action_delay", "2"},
               {"disturb.push_interval", "20"}}},
        Param{"FrozenLake-v1", {{"norm_adv", "batch"}, {"target_kl", "0.0001"}}}),
    [](const auto& info) { return "case" + std::to_string(info.index); });

}  // namespace
}  // namespace broadloom
