// Instruments with probe states or sums over a run, in training.
// sanitizers: address, threads
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "broadloom/env/env_maker.h"
#include "broadloom/env/forwarding_vec_env.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/trainer.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

using Numbers = std::map<std::string, double>;

Config probed_config(const Overrides& overrides) {
  Overrides all{{"env_id", "CartPole-v1"},
                {"num_envs", "16"},
                {"num_steps", "16"},
                {"total_timesteps", "100000"},
                {"instruments", "plasticity,policy,coverage"},
                {"instrument_every", "1"}};
  return resolved(add_overrides(all, overrides));
}

std::unique_ptr<Trainer> probed_trainer(const Overrides& overrides, int threads = 2) {
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(probed_config(overrides), threads);
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  return trainer.take();
}

Numbers probed_numbers(const Trainer& trainer) {
  Numbers numbers;
  trainer.instruments().visit_numbers(
      [&](const NumberInfo& info, double value) { numbers[info.name] = value; });
  return numbers;
}

Numbers first_numbers(const Overrides& overrides) {
  const std::unique_ptr<Trainer> trainer = probed_trainer(overrides);
  EXPECT_TRUE(trainer->iterate().ok());
  return probed_numbers(*trainer);
}

// The published norms of CleanRL's initialisation, see tests/nn/init_test.cc.
TEST(ProbeInstruments, InitialWeightNormsAreTheKnownOnes) {
  for (const auto& [env, norm] :
       {std::pair{"CartPole-v1", std::sqrt(2.0 * (8 + 128) + 2e-4 + 1)},
        std::pair{"Pendulum-v1", std::sqrt(2.0 * (6 + 128) + 1e-4 + 1)}}) {
    const Numbers n = first_numbers({{"env_id", env}, {"learning_rate", "0"}});
    EXPECT_NEAR(n.at("plasticity/weight_norm"), norm, 1e-6) << env;
  }
}

// Groups of bytes and choices are packed in the block, and not normalised. In this task, states do
// not depend on actions.
TEST(ProbeInstruments, CoverageOfGroupsDoesNotDependOnTheirNormalisation) {
  const auto covered = [](const char* norm_obs) {
    const std::unique_ptr<Trainer> trainer =
        probed_trainer({{"env_id", "Turntable-v0"}, {"norm_obs", norm_obs}});
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(trainer->iterate().ok());
    return probed_numbers(*trainer).at("coverage/run");
  };
  EXPECT_GT(covered("true"), 0.0);
  EXPECT_EQ(covered("true"), covered("false"));
}

// The network is the same, so the probe's numbers must not depend on the block.
TEST(ProbeInstruments, DoNotDependOnTheShapeOfTheBlock) {
  const Overrides still{{"learning_rate", "0"}};
  const Overrides other{{"learning_rate", "0"}, {"num_envs", "3"}, {"num_steps", "70"}};
  const Numbers a = first_numbers(still), b = first_numbers(other);
  int same = 0;
  for (const auto& [name, value] : a) {
    const bool of_probe = name == "policy/variance" || (name.rfind("plasticity/", 0) == 0 &&
                                                        name.rfind("plasticity/grad", 0) != 0);
    if (!of_probe) continue;
    EXPECT_EQ(value, b.at(name)) << name;
    ++same;
  }
  EXPECT_EQ(same, 34);
  EXPECT_NE(a.at("plasticity/grad_kurtosis"), b.at("plasticity/grad_kurtosis"));
}

TEST(ProbeInstruments, ALearningRateOfZeroMovesNoPolicy) {
  for (const char* env : {"CartPole-v1", "Pendulum-v1"}) {
    const Numbers n = first_numbers({{"env_id", env}, {"learning_rate", "0"}});
    for (const char* key : {"policy/kl", "policy/kl_k1", "policy/kl_k3"}) EXPECT_EQ(n.at(key), 0.0);
    EXPECT_EQ(n.at("policy/ess"), 100.0);
    const Numbers moved = first_numbers({{"env_id", env}, {"learning_rate", "0.01"}});
    EXPECT_GT(moved.at("policy/kl"), 1e-4);
    EXPECT_LT(moved.at("policy/ess"), 100.0);
    EXPECT_NEAR(moved.at("policy/kl_k3"), moved.at("policy/kl"), moved.at("policy/kl"));
  }
}

TEST(ProbeInstruments, CoverageOfATableNeverFalls) {
  const std::unique_ptr<Trainer> trainer = probed_trainer({{"env_id", "FrozenLake-v1"}});
  double before = 0.0;
  for (int i = 1; i <= 10; ++i) {
    ASSERT_TRUE(trainer->iterate().ok());
    const Numbers n = probed_numbers(*trainer);
    EXPECT_GE(n.at("coverage/run"), before);
    EXPECT_LE(n.at("coverage/block"), n.at("coverage/run"));
    EXPECT_EQ(n.at("coverage/states"), 256.0 * i);
    before = n.at("coverage/run");
  }
  EXPECT_EQ(before, 100.0 * 11 / 16);  // all but four holes and the goal, where no one acts
}

class CheckpointFile {
 public:
  CheckpointFile()
      : path_(std::filesystem::temp_directory_path() /
              ("broadloom_probe_" + std::to_string(getpid()) + ".safetensors")) {}
  ~CheckpointFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::unique_ptr<Trainer> resumed(const std::string& path, const Overrides& overrides) {
  std::unique_ptr<Trainer> trainer = probed_trainer(overrides, 1);
  const Result<Checkpoint> checkpoint = read_checkpoint(path);
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  const Status status = restore(checkpoint.value(), *trainer);
  EXPECT_TRUE(status.ok()) << status.message();
  return trainer;
}

TEST(ProbeInstruments, AResumedRunSaysTheSame) {
  const CheckpointFile file;
  for (const Overrides& overrides :
       {Overrides{{"env_id", "FrozenLake-v1"}}, Overrides{{"norm_obs", "true"}}}) {
    const std::unique_ptr<Trainer> whole = probed_trainer(overrides);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(whole->iterate().ok());
    ASSERT_TRUE(save_checkpoint(file.path(), *whole, {}).ok());
    const std::unique_ptr<Trainer> again = resumed(file.path(), overrides);
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(whole->iterate().ok());
      ASSERT_TRUE(again->iterate().ok());
      const Numbers a = probed_numbers(*whole), b = probed_numbers(*again);
      for (const auto& [name, value] : a) {
        if (value == value) EXPECT_EQ(value, b.at(name)) << name;
      }
    }
  }
}

// A resume may add or remove instruments; only their earlier sums are missing.
TEST(ProbeInstruments, ARunMayGoOnWithOthers) {
  const CheckpointFile file;
  const std::unique_ptr<Trainer> probed = probed_trainer({});
  ASSERT_TRUE(probed->iterate().ok());
  ASSERT_TRUE(save_checkpoint(file.path(), *probed, {}).ok());
  const std::unique_ptr<Trainer> without = resumed(file.path(), {{"instruments", "gradient"}});
  ASSERT_TRUE(without->iterate().ok());
  ASSERT_TRUE(save_checkpoint(file.path(), *without, {}).ok());
  const std::unique_ptr<Trainer> again = resumed(file.path(), {});
  ASSERT_TRUE(again->iterate().ok());
  EXPECT_EQ(probed_numbers(*again).at("coverage/states"), 256.0);
}

// A simulator that cannot make others of its kind.
class OnlyOne final : public ForwardingVecEnv, public EnvMaker {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  std::unique_ptr<VecEnv> another(const VecEnvOptions&) const override { return nullptr; }
};

std::unique_ptr<VecEnv> only_one(const Config& config) {
  VecEnvOptions options;
  options.num_envs = config.num_envs;
  return std::make_unique<OnlyOne>(make_vec_env(config.env_id, {}, options).take());
}

TEST(ProbeInstruments, ASimulatorThatMakesNoOthersIsToldSo) {
  const Config config = probed_config({});
  const auto refused = Trainer::create(config, 1, only_one(config));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(refused.status().message().find("EnvMaker::another()"), std::string::npos);
  const Config gradient = probed_config({{"instruments", "gradient"}});
  EXPECT_TRUE(Trainer::create(gradient, 1, only_one(gradient)).ok());
}

}  // namespace
}  // namespace broadloom
