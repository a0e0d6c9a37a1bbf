// Reports on the ends of episodes in training, and their part of a checkpoint.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "broadloom/env/forwarding_vec_env.h"
#include "broadloom/env/strata.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/trainer.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

Config outcomes_config(const Overrides& more) {
  Overrides all{{"num_envs", "32"},           {"num_steps", "64"},    {"hidden_sizes", "8"},
                {"total_timesteps", "50000"}, {"seed_families", "8"}, {"max_episode_steps", "25"}};
  return resolved(add_overrides(all, more));
}

const Overrides kCurriculum{{"curriculum", "easy,hard"},
                            {"curriculum_episodes", "2"},
                            {"strata.easy.half_length", "0.4..0.6"},
                            {"strata.hard.half_length", "0.05..0.1"}};

std::unique_ptr<Trainer> outcomes_trainer(const Config& config,
                                          std::unique_ptr<VecEnv> envs = nullptr) {
  Result<std::unique_ptr<Trainer>> trainer =
      envs == nullptr ? Trainer::create(config, 1) : Trainer::create(config, 1, std::move(envs));
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  return trainer.take();
}

std::map<std::string, double> reported_numbers(const Trainer& trainer) {
  std::map<std::string, double> out;
  visit_numbers(trainer.report(), [&](const NumberInfo& info, auto value) {
    EXPECT_TRUE(out.emplace(info.name, static_cast<double>(value)).second) << info.name;
  });
  return out;
}

// All ends of the block, or the last 100 of all blocks.
TEST(Outcomes, RatesAreThoseOfTheEpisodesInTheBlocks) {
  const std::unique_ptr<Trainer> trainer = outcomes_trainer(outcomes_config(kCurriculum));
  std::vector<EpisodeEnd> ends;
  std::vector<int> terminated;
  for (int iteration = 0; iteration < 6; ++iteration) {
    ASSERT_TRUE(trainer->iterate().ok());
    const RolloutBlock& block = trainer->block();
    const std::size_t before = ends.size();
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (block.terminated[i] == 0 && block.truncated[i] == 0) continue;
      ends.push_back(block.ends[i]);
      terminated.push_back(block.terminated[i]);
      ASSERT_EQ(ends.back().success, block.truncated[i]);  // as CartPole has it
    }
    ASSERT_GT(ends.size(), 100u);
    double all = 0.0, by_themselves = 0.0, count[2] = {}, succeeded[2] = {};
    const std::size_t first = std::min(before, ends.size() - 100);
    const double over = static_cast<double>(ends.size() - first);
    EXPECT_EQ(trainer->averaged_episodes(), static_cast<std::int64_t>(ends.size() - first));
    for (std::size_t e = first; e < ends.size(); ++e) {
      all += ends[e].success / over;
      by_themselves += terminated[e] / over;
      count[ends[e].stratum] += 1.0;
      succeeded[ends[e].stratum] += ends[e].success;
    }
    std::map<std::string, double> got = reported_numbers(*trainer);
    EXPECT_NEAR(got.at("success_rate"), all, 1e-12);
    EXPECT_NEAR(got.at("termination_rate"), by_themselves, 1e-12);
    for (const int s : {0, 1}) {
      const double rate = got.at(s == 0 ? "success_rate/easy" : "success_rate/hard");
      if (count[s] == 0.0) EXPECT_TRUE(std::isnan(rate));
      if (count[s] > 0.0) EXPECT_DOUBLE_EQ(rate, succeeded[s] / count[s]);
    }
    EXPECT_NEAR(got.at("level_share/easy") + got.at("level_share/hard"), 1.0, 1e-12);
    EXPECT_NEAR(got.at("mean_level"), got.at("level_share/hard"), 1e-12);
  }
  EXPECT_GT(reported_numbers(*trainer).at("mean_level"), 0.0);
}

// Only the leader is evaluated and exported. It acts in the last 8 of 32 environments.
TEST(Outcomes, WithSeveralPoliciesEpisodesAreTheLeaders) {
  const std::unique_ptr<Trainer> trainer = outcomes_trainer(
      outcomes_config({{"sapg_policies", "4"}, {"seed_families", "0"}, {"num_steps", "128"}}));
  ASSERT_TRUE(trainer->iterate().ok());
  const RolloutBlock& block = trainer->block();
  std::vector<double> lengths;  // CartPole pays 1 for a step
  for (int t = 0; t < block.T; ++t) {
    for (int n = 24; n < block.N; ++n) {
      const auto ends = [&](int step) {
        const std::size_t i = block.index(step, n);
        return block.terminated[i] != 0 || block.truncated[i] != 0;
      };
      if (!ends(t)) continue;
      int begin = t;
      while (begin > 0 && !ends(begin - 1)) --begin;
      lengths.push_back(t - begin + 1);
    }
  }
  std::map<std::string, double> got = reported_numbers(*trainer);
  EXPECT_EQ(trainer->averaged_episodes(), static_cast<std::int64_t>(lengths.size()));
  EXPECT_DOUBLE_EQ(got.at("episodic_return"), std::accumulate(lengths.begin(), lengths.end(), 0.0) /
                                                  static_cast<double>(lengths.size()));
  EXPECT_EQ(got.at("episodic_length"), got.at("episodic_return"));
}

TEST(Outcomes, NamesHoldForTheWholeRun) {
  const std::unique_ptr<Trainer> trainer = outcomes_trainer(outcomes_config(kCurriculum));
  const auto names = [&] {
    std::string out;
    for (const auto& [name, value] : reported_numbers(*trainer)) out += name + " ";
    return out;
  };
  const std::string before = names();
  ASSERT_TRUE(trainer->iterate().ok());
  EXPECT_EQ(names(), before);
  const std::unique_ptr<Trainer> plain = outcomes_trainer(outcomes_config({}));
  EXPECT_TRUE(plain->report().strata.empty());
}

// CartPole without success flags, which records whether they were requested.
class Silent final : public ForwardingVecEnv {
 public:
  explicit Silent(std::unique_ptr<VecEnv> inner)
      : ForwardingVecEnv(std::move(inner)), spec_(this->inner().spec()) {
    spec_.names_success = false;
  }
  const EnvSpec& spec() const override { return spec_; }
  Status step(int begin, int end, const StepRows& rows) override {
    EXPECT_EQ(rows.ends, nullptr);
    return inner().step(begin, end, rows);
  }

 private:
  EnvSpec spec_;
};

std::unique_ptr<VecEnv> silent(const Config& config) {
  VecEnvOptions options = vec_env_options(config);
  options.curriculum = {};
  Result<std::unique_ptr<VecEnv>> envs = make_vec_env(config.env_id, config.env_options, options);
  EXPECT_TRUE(envs.ok());
  return std::make_unique<Silent>(envs.take());
}

TEST(Outcomes, NothingIsAskedForWhereNoSuccessIsNamed) {
  const Config config = outcomes_config({});
  const std::unique_ptr<Trainer> trainer = outcomes_trainer(config, silent(config));
  const std::unique_ptr<Trainer> named = outcomes_trainer(config);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(trainer->iterate().ok() && named->iterate().ok());
  EXPECT_TRUE(trainer->block().ends.empty());
  EXPECT_TRUE(std::isnan(trainer->report().success_rate));
  EXPECT_FALSE(std::isnan(trainer->report().termination_rate));
  EXPECT_EQ(trainer->report().termination_rate, named->report().termination_rate);
  EXPECT_EQ(trainer->report().mean_return, named->report().mean_return);
}

TEST(Outcomes, ACurriculumOverGivenEnvironmentsMustBeTheirs) {
  const Config config = outcomes_config(kCurriculum);
  const auto refused = Trainer::create(config, 1, silent(config));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("EpisodeStrata::level()"), std::string::npos);
}

// Every whole episode of Pendulum is as long as its time limit.
TEST(Outcomes, EpisodesWhoseStartWasStaggeredAreNotReported) {
  Config config = outcomes_config({{"env_id", "Pendulum-v1"},
                                   {"stagger_starts", "true"},
                                   {"num_envs", "8"},
                                   {"num_steps", "16"},
                                   {"max_episode_steps", "20"}});
  const std::unique_ptr<Trainer> trainer = outcomes_trainer(config);
  ASSERT_TRUE(trainer->iterate().ok());  // six ends, none of an episode that was seen whole
  EXPECT_EQ(trainer->report().episodes, 0);
  EXPECT_TRUE(std::isnan(trainer->report().mean_return));
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(trainer->iterate().ok());
    EXPECT_EQ(trainer->report().mean_length, 20.0);
  }
  EXPECT_EQ(trainer->episodes(), 8 * 80 / 20 - 7);
}

class SavedOutcomes : public InFolder {
 protected:
  Checkpoint saved(Trainer& trainer) {
    EXPECT_TRUE(save_checkpoint(at("checkpoint"), trainer, {}).ok());
    Result<Checkpoint> checkpoint = read_checkpoint(at("checkpoint"));
    EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    return checkpoint.take();
  }
};

TEST_F(SavedOutcomes, AreReportedAgainAfterARestore) {
  const std::unique_ptr<Trainer> trainer = outcomes_trainer(outcomes_config(kCurriculum));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(trainer->iterate().ok());
  const std::unique_ptr<Trainer> other = outcomes_trainer(outcomes_config(kCurriculum));
  ASSERT_TRUE(restore(saved(*trainer), *other).ok());
  EXPECT_EQ(other->report().success_rate, trainer->report().success_rate);
  EXPECT_EQ(other->report().termination_rate, trainer->report().termination_rate);
  EXPECT_EQ(other->report().strata, trainer->report().strata);
  ASSERT_TRUE(trainer->iterate().ok() && other->iterate().ok());
  EXPECT_EQ(reported_numbers(*other), reported_numbers(*trainer));
}

TEST_F(SavedOutcomes, ACheckpointWithoutThemIsRefused) {
  const std::unique_ptr<Trainer> trainer = outcomes_trainer(outcomes_config({}));
  ASSERT_TRUE(trainer->iterate().ok());
  Checkpoint cut = saved(*trainer);
  ASSERT_EQ(cut.file.tensors.erase("episodes.outcomes"), 1u);
  const Status status = restore(cut, *outcomes_trainer(outcomes_config({})));
  EXPECT_EQ(status.kind(), ErrorKind::kMismatch);
  EXPECT_NE(status.message().find("episodes.outcomes"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace broadloom
