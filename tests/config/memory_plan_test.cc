// The planned memory of a run. tests/train/allocation_test.cc compares it with the real memory, and
// tests/cuda/device_faults_test.cc for copies to a device.
#include "broadloom/setup/memory_plan.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "broadloom/learn/gradient_cut.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/rollout/normalizer.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/machine.h"
#include "broadloom/setup/simulator.h"
#include "broadloom/train/trainer.h"
#include "tests/learn/a2c.h"

namespace broadloom {
namespace {

// The companion of the algorithm "accompanied". "lonely" has none and is otherwise the same.
CompanionSize declared;

// Both have a second value, as ppo_rnd has.
bool register_both() {
  AlgorithmEntry entry = A2c::entry();
  entry.name = "lonely";
  entry.value_outputs = 2;
  const bool is_first = register_algorithm(entry).ok();
  entry.name = "accompanied";
  entry.companion = [](const Config&, const EnvSpec&) { return declared; };
  return register_algorithm(entry).ok() && is_first;
}

class PassingOfOnesOwn : public testing::Test {
 protected:
  void SetUp() override {
    static const bool are_known = register_both();
    ASSERT_TRUE(are_known);
    declared = {};
  }
};

// Uses PPO's defaults for all algorithms. Keys of RND do nothing here.
Config config_for_device(const std::string& algorithm, const Overrides& overrides) {
  Overrides all{{"env_id", "CartPole-v1"}, {"total_timesteps", "200000"}};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const Result<Config> config = resolve_record(all);
  EXPECT_TRUE(config.ok()) << config.status().message();
  Config out = config.value();
  out.algorithm = algorithm;
  out.device = "cuda";
  return out;
}

std::size_t passing(const std::string& algorithm, const Overrides& overrides = {}) {
  const Result<MemoryPlan> plan = plan_memory(config_for_device(algorithm, overrides), 2);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.value().passing;
}

// The bytes that a companion of that size adds.
std::size_t added(const CompanionSize& size, const Overrides& overrides = {}) {
  declared = size;
  return passing("accompanied", overrides) - passing("lonely", overrides);
}

TEST_F(PassingOfOnesOwn, IsWhatPassesOfTheLibrarysOfTheirSize) {
  for (const char* norm_obs : {"false", "true"}) {
    const Overrides overrides{
        {"norm_obs", norm_obs}, {"num_envs", "200"}, {"rnd_hidden_sizes", "128,300"}};
    const Config rnd = config_for_device("ppo_rnd", overrides);
    declared = companion_size(rnd, make_one_env(rnd).value()->spec());
    EXPECT_EQ(passing("accompanied", overrides), passing("ppo_rnd", overrides)) << norm_obs;
    EXPECT_GT(passing("accompanied", overrides), passing("lonely", overrides)) << norm_obs;
  }
  declared = {};
  EXPECT_EQ(passing("accompanied"), passing("lonely"));
}

// Parameters and moments are copied to the device and parameters back, through pages that are a
// quarter larger than their content, and into an array. (Both sizes have equally many sums per
// update.)
TEST_F(PassingOfOnesOwn, GrowsWithTheCompanionsParameters) {
  EXPECT_EQ(added({.parameters = 3000}) - added({.parameters = 1000}), 6 * 2000 * sizeof(float));
}

// Its samples are drawn from all samples in each epoch, and each of its partial gradients has its
// own sums.
TEST_F(PassingOfOnesOwn, GrowsWithWhatIsDrawnAndSaidOfTheCompanion) {
  const Config config = config_for_device("accompanied", {});
  const auto epochs = static_cast<std::size_t>(config.update_epochs);
  const std::size_t drawn = epochs * static_cast<std::size_t>(config.batch_size()) * sizeof(int);
  const int partials = partial_gradient_count(static_cast<int>(config.largest_minibatch()), 1);
  const std::size_t sums = epochs * static_cast<std::size_t>(config.minibatch_count()) * 2 *
                           static_cast<std::size_t>(partials) * sizeof(PpoSums);
  EXPECT_EQ(added({.parameters = 1}),
            (drawn + sums + 4 * sizeof(float)) / 4 * 5 + drawn + sums + sizeof(float));
}

TEST_F(PassingOfOnesOwn, GrowsWithStatisticsOfTheCompanionsOwn) {
  const auto of_statistics = [](int columns, const char* norm_obs) {
    const Overrides overrides{{"norm_obs", norm_obs}, {"num_envs", "200"}};
    return added({.parameters = 1000, .normalised = columns}, overrides) -
           added({.parameters = 1000}, overrides);
  };
  const auto shards = static_cast<std::size_t>(ShardPlan(200, kTileRows).count());
  const std::size_t sums = shards * 2 * ObsNormalizer::kChains * sizeof(double);
  EXPECT_EQ(of_statistics(1, "false"), sums / 4 * 5 + sums);  // in pages, and in an array
  for (const char* norm_obs : {"false", "true"}) {
    EXPECT_EQ(of_statistics(3, norm_obs), 3 * of_statistics(1, "false")) << norm_obs;
  }
}

// The plan is of the phase with the most sums per update.
TEST_F(PassingOfOnesOwn, IsOfTheLargestShape) {
  const CompanionSize size{.parameters = 1000, .normalised = 4};
  EXPECT_EQ(added(size, {{"shape_schedule", "4x8 @ 0, 150x32 @ 0.5"}}),
            added(size, {{"num_envs", "150"}, {"num_steps", "32"}}));
}

std::int64_t numbers_of(Trainer& trainer, const std::string& name) {
  for (const TensorRef& tensor : trainer.state()) {
    if (tensor.name == name) return static_cast<std::int64_t>(tensor.count());
  }
  return 0;
}

TEST(CompanionSizes, AreOfWhatIsLearnt) {
  for (const char* algorithm : {"ppo", "pqn", "ppo_rnd"}) {
    for (const char* norm_obs : {"false", "true"}) {
      SCOPED_TRACE(std::string(algorithm) + ", " + norm_obs);
      const Config config = resolve_config({{"algorithm", algorithm},
                                            {"env_id", "CartPole-v1"},
                                            {"norm_obs", norm_obs},
                                            {"rnd_hidden_sizes", "24,10"}})
                                .take();
      const std::unique_ptr<Trainer> trainer = Trainer::create(config, 1).take();
      const CompanionSize size = companion_size(config, make_one_env(config).value()->spec());
      EXPECT_EQ(static_cast<std::int64_t>(size.parameters),
                numbers_of(*trainer, "learner.companion.params"));
      const bool is_rnd = std::string(algorithm) == "ppo_rnd";
      EXPECT_EQ(size.parameters > 0, is_rnd);
      EXPECT_EQ(size.normalised, is_rnd && !config.norm_obs
                                     ? numbers_of(*trainer, "algorithm.observations.mean")
                                     : 0);
      EXPECT_EQ(size.normalised > 0, is_rnd && !config.norm_obs);
    }
  }
}

TEST(CheckMemory, NamesTheLimitThatIsTooSmall) {
  MemoryPlan plan;
  plan.block = 700'000'000;
  const auto message = [&](const MemoryReadings& readings) {
    return check_memory(Config(), plan, 1, memory_limits(readings)).message();
  };
  EXPECT_EQ(message({.machine = 8e8, .group = 8e8, .address_space = 8e8}), "");
  EXPECT_EQ(message({.machine = 8e9, .address_space = 5e8}),
            "this run takes 700.0 MB (700.0 MB of it the rollout block of num_envs * num_steps "
            "transitions), but ulimit -v allows 500.0 MB; make num_envs or num_steps smaller");
  EXPECT_NE(message({.machine = 8e9, .group = 6e8}).find("but the control group allows 600.0 MB"),
            std::string::npos);
  EXPECT_NE(message({.machine = 3e8}).find("but this machine has 300.0 MB"), std::string::npos);
}

}  // namespace
}  // namespace broadloom
