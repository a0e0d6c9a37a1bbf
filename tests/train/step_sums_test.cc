// Sums of reward terms and measures over steps, on one rank and on several.
// sanitizers: address, threads
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/run_numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/train/trainer.h"
#include "tests/env/counted.h"
#include "tests/ranks/thread_ranks.h"

namespace broadloom {
namespace {

constexpr int kEnvs = 150, kSteps = 13;

Config config() {
  Result<Config> config = resolve_config({{"env_id", "Pendulum-v1"},
                                          {"num_envs", std::to_string(kEnvs)},
                                          {"num_steps", std::to_string(kSteps)},
                                          {"num_minibatches", "2"},
                                          {"update_epochs", "1"},
                                          {"norm_reward", "false"},
                                          {"reward_scale", "1"},
                                          {"max_episode_steps", "9"},
                                          {"total_timesteps", "40000"}});
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.take();
}

// A trainer on environments with earlier sums. given: receives the environments, if not null.
std::unique_ptr<Trainer> trainer(int threads, Ranks& ranks = Ranks::alone(),
                                 Counted** given = nullptr) {
  VecEnvOptions options;
  options.num_envs = kEnvs;
  options.max_episode_steps = 9;
  Result<std::unique_ptr<VecEnv>> envs = make_vec_env("Pendulum-v1", {}, options);
  EXPECT_TRUE(envs.ok());
  auto counted = std::make_unique<Counted>(envs.take());
  counted->pay(3, 100.0);
  if (given != nullptr) *given = counted.get();
  Result<std::unique_ptr<Trainer>> made =
      Trainer::create(config(), threads, std::move(counted), ranks);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.take();
}

std::vector<double> counted_by(const Trainer& trainer) {
  std::vector<double> out;
  for (const NamedNumber& number : trainer.report().counted) out.push_back(number.value);
  return out;
}

TEST(StepSums, AreMeansOverTheBlock) {
  const std::unique_ptr<Trainer> run = trainer(2);
  ASSERT_EQ(run->report().counted.size(), 3u);
  EXPECT_EQ(run->report().counted[0].name, "reward/quarter");
  EXPECT_TRUE(std::isnan(run->report().counted[0].value));
  EXPECT_EQ(run->report().counted[2].name, "measure/square");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run->iterate().ok());
    const auto& rewards = run->block().rewards;
    const double mean = std::accumulate(rewards.begin(), rewards.end(), 0.0) / (kEnvs * kSteps);
    double squares = 0.0;
    for (const double reward : rewards) squares += reward * reward;
    ASSERT_LT(mean, -0.1);
    EXPECT_NEAR(counted_by(*run)[0], 0.25 * mean, 1e-9);
    EXPECT_NEAR(counted_by(*run)[1], 0.75 * mean, 1e-9);
    EXPECT_NEAR(counted_by(*run)[2], squares / (kEnvs * kSteps), 1e-9);
  }
}

// Sums of the resumed trainer from before its restore do not count.
TEST(StepSums, GoOnFromWhatWasSaved) {
  Counted* envs = nullptr;
  const std::unique_ptr<Trainer> whole = trainer(1), other = trainer(2, Ranks::alone(), &envs);
  ASSERT_TRUE(whole->iterate().ok());
  const std::vector<TensorRef> source = whole->state(), target = other->state();
  ASSERT_EQ(source.size(), target.size());
  for (std::size_t i = 0; i < source.size(); ++i)
    std::memcpy(target[i].data, source[i].data, source[i].bytes());
  envs->pay(7, 100.0);
  ASSERT_TRUE(other->state_restored().ok());
  ASSERT_TRUE(whole->iterate().ok());
  ASSERT_TRUE(other->iterate().ok());
  EXPECT_EQ(counted_by(*other), counted_by(*whole));
}

TEST(StepSums, AreTheSameForAnyNumberOfRanks) {
  const std::unique_ptr<Trainer> alone = trainer(1);
  std::vector<std::vector<double>> expected;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(alone->iterate().ok());
    expected.push_back(counted_by(*alone));
  }
  for (const int size : {2, 3}) {
    ThreadWorld world(size);
    world.run([&](Ranks& ranks) {
      const std::unique_ptr<Trainer> run = trainer(1, ranks);
      for (const std::vector<double>& numbers : expected) {
        const Status status = run->iterate();
        EXPECT_TRUE(status.ok()) << status.message();
        if (!status.ok()) return;
        EXPECT_EQ(counted_by(*run), numbers) << "rank " << ranks.rank() << " of " << size;
      }
    });
  }
}

TEST(StepSums, AreNotMadeUpWhereNobodyCounts) {
  Result<std::unique_ptr<Trainer>> made = Trainer::create(config(), 1);
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(made.value()->iterate().ok());
  EXPECT_TRUE(made.value()->report().counted.empty());
}

}  // namespace
}  // namespace broadloom
