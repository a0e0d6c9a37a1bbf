// A policy from a checkpoint equals that of the trainer that saved it.
#include "broadloom/evaluate/policy.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "broadloom/core/hash.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/tasks/simulator_entry.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/policy_outputs.h"
#include "broadloom/record/files.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/initial_policy.h"
#include "broadloom/train/trainer.h"
#include "tests/golden/folder.h"

namespace broadloom {
namespace {

class LoadedPolicies : public ::testing::Test {
 protected:
  std::unique_ptr<Trainer> trained(const Overrides& overrides) {
    Overrides all{{"num_envs", "8"},
                  {"num_steps", "32"},
                  {"total_timesteps", "2560"},
                  {"hidden_sizes", "16,8"}};
    all.insert(all.end(), overrides.begin(), overrides.end());
    std::unique_ptr<Trainer> trainer = Trainer::create(resolve_config(all).take(), 1).take();
    while (!trainer->finished()) EXPECT_TRUE(trainer->iterate().ok());
    EXPECT_TRUE(save_checkpoint(path(), *trainer, {}).ok());
    return trainer;
  }
  std::string path() const { return folder_.at("policy.safetensors"); }
  Result<std::unique_ptr<LoadedPolicy>> load() const {
    const Result<FoundCheckpoint> found = find_checkpoint(path());
    if (!found.ok()) return found.status();
    return LoadedPolicy::load(found.value());
  }

  golden::Folder folder_{"policy"};
};

void expect_same_episodes(const Policy& a, const Policy& b) {
  const EvalOptions options{.episodes = 20, .seed = 3, .actions = EvalActions::kSampled};
  const std::vector<EvalEpisode> of_a = play_episodes(a, options).take();
  const std::vector<EvalEpisode> of_b = play_episodes(b, options).take();
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    ASSERT_EQ(of_a[i].episode_return, of_b[i].episode_return);
    ASSERT_EQ(of_a[i].length, of_b[i].length);
  }
}

TEST_F(LoadedPolicies, ActAsTheTrainerDoes) {
  for (const Overrides& overrides :
       {Overrides{{"env_id", "CartPole-v1"}},
        Overrides{{"env_id", "Pendulum-v1"}, {"norm_obs", "true"}, {"norm_reward", "true"}},
        Overrides{{"env_id", "Pendulum-v1"}, {"norm_value", "popart"}},
        Overrides{
            {"env_id", "Taxi-v3"}, {"shared_encoder", "true"}, {"max_episode_steps", "30"}}}) {
    const std::unique_ptr<Trainer> trainer = trained(overrides);
    const Result<std::unique_ptr<LoadedPolicy>> loaded = load();
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const Policy policy = loaded.value()->view();
    expect_same_episodes(policy, trainer->policy());
    const PolicyOrigin &a = policy.origin, b = trainer->policy().origin;
    EXPECT_EQ(a.iteration, 10);
    EXPECT_EQ(a.iteration, b.iteration);
    EXPECT_EQ(a.global_step, b.global_step);
    if (b.training_return == b.training_return) EXPECT_EQ(a.training_return, b.training_return);
    EXPECT_EQ(a.checkpoint, path());
    EXPECT_EQ(a.run_dir, "");
    EXPECT_EQ(a.hash, hash_text(read_file(path()).value()));
    EXPECT_EQ(policy.spec.max_episode_steps, trainer->spec().max_episode_steps);
    EXPECT_EQ(policy.reward_norm == nullptr, trainer->reward_normalizer() == nullptr);
    if (policy.reward_norm != nullptr) {
      EXPECT_EQ(policy.reward_norm->statistics().var(),
                trainer->reward_normalizer()->statistics().var());
    }
    EXPECT_EQ(policy.value_norm == nullptr, trainer->value_normalizer() == nullptr);
    if (policy.value_norm != nullptr) {
      EXPECT_EQ(policy.value_norm->statistics().var(),
                trainer->value_normalizer()->statistics().var());
      EXPECT_GT(policy.value_norm->statistics().count(), 1.0);
    }
  }
}

// Pendulum's returns are far below 0, where the critic's outputs are not.
TEST_F(LoadedPolicies, GiveValuesInUnitsOfRewards) {
  for (const char* kind : {"running", "popart"}) {
    const std::unique_ptr<Trainer> trainer =
        trained({{"env_id", "Pendulum-v1"}, {"norm_value", kind}, {"norm_reward", "false"}});
    const std::unique_ptr<LoadedPolicy> loaded = load().take();
    const Policy policy = loaded->view();
    const Space& space = policy.spec.observation;
    Observations seen(observation_type(space), 2);
    const std::vector<float> rows{1.0f, 0.0f, 0.5f, -1.0f, 0.0f, 3.0f};
    std::copy(rows.begin(), rows.end(), seen.floats().begin());
    const PolicyOutputs outputs = policy_outputs(policy, seen, 2);
    TileWorkspace<float> work = policy.network.make_workspace<float>();
    std::vector<float> inputs(rows);
    policy.obs_norm->normalize(rows.data(), 2, inputs.data());
    policy.network.forward(policy.params, inputs.data(), 2, work);
    const ValueUnit unit = trainer->value_normalizer()->unit();
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(outputs.values[i], unit.value(work.values[i]));
      EXPECT_LT(outputs.values[i], -5.0f);
    }
  }
}

// As a checkpoint of another version of the library would say it.
TEST_F(LoadedPolicies, OfTheLibraryHaveTheSourceThatTheirIdSays) {
  trained({{"env_id", "CartPole-v1"}});
  Checkpoint checkpoint = read_checkpoint(path()).take();
  checkpoint.own_spec = env_spec("CartPole-v1", {}).take();
  checkpoint.own_spec->upstream = "Gymnasium 0.29 cart.py, on another.xml";
  EXPECT_TRUE(check_source(checkpoint).ok()) << check_source(checkpoint).message();
  EXPECT_TRUE(changes_since(checkpoint, checkpoint.config).empty());
}

TEST_F(LoadedPolicies, AllChangesOfTheirEnvironmentsAreSaid) {
  EnvSpec spec = env_spec("Pendulum-v1", {}).take();
  spec.id = "Swing-v0";
  spec.upstream = "MySim 2.2";
  spec.engine = "MyEngine 4";
  const MakeSimulator make = [](const VecEnvOptions& options) {
    return make_vec_env("Pendulum-v1", {}, options);
  };
  ASSERT_TRUE(register_environment(simulator_entry(spec, make)).ok());
  trained({{"env_id", "Pendulum-v1"}});
  Checkpoint checkpoint = read_checkpoint(path()).take();
  checkpoint.config.env_id = spec.id;
  checkpoint.own_spec = spec;
  EXPECT_TRUE(changes_since(checkpoint, checkpoint.config).empty());
  EnvSpec& then = *checkpoint.own_spec;
  then.upstream = "MySim 2.1";
  then.engine = "MyEngine 3";
  then.action.high[0] *= 2.0f;
  then.observation.low[1] *= 2.0f;
  EXPECT_TRUE(check_source(checkpoint).ok()) << "another version is the same source";
  const std::vector<EnvChange> changes = changes_since(checkpoint, checkpoint.config);
  ASSERT_EQ(changes.size(), 4u);
  const char* const words[] = {"comes from 'MySim 2.2' now, and came from 'MySim 2.1'",
                               "stepped by 'MyEngine 4' now, and was by 'MyEngine 3'",
                               "actions of Swing-v0 have", "observations of Swing-v0 have"};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NE(changes[i].text.find(words[i]), std::string::npos) << changes[i].text;
    EXPECT_EQ(changes[i].is_of_engine, i == 1);
  }
  EXPECT_EQ(changes[0].text.find("register that one"), std::string::npos);
  then.upstream = "YourSim 2.2";
  EXPECT_EQ(check_source(checkpoint).kind(), ErrorKind::kMismatch);
}

TEST_F(LoadedPolicies, AreRefusedWithoutAWholeCheckpoint) {
  EXPECT_EQ(load().status().kind(), ErrorKind::kNotFound);
  trained({});
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - 1);
  EXPECT_EQ(load().status().kind(), ErrorKind::kCorrupt);
}

// A checkpoint with this number in one tensor, and a correct checksum.
TEST_F(LoadedPolicies, AreRefusedWithImpossibleNumbers) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  struct Wrong {
    const char* tensor;
    double number;
    const char* words;
  };
  for (const Wrong& wrong :
       {Wrong{"learner.params", kNan,
              "tensor 'learner.params': got nan at [1], expected a finite number"},
        Wrong{"obs_normalizer.var", -1.0, "'obs_normalizer.var': got -1 at [1], expected"},
        Wrong{"obs_normalizer.mean", kNan, "'obs_normalizer.mean': got nan at [1]"},
        Wrong{"reward_normalizer.var", -1.0, "'reward_normalizer.var': got -1 at [0]"},
        Wrong{"obs_normalizer.count", kNan, "'obs_normalizer.count': got nan at [0]"}}) {
    const std::unique_ptr<Trainer> trainer =
        trained({{"env_id", "Pendulum-v1"}, {"norm_obs", "true"}, {"norm_reward", "true"}});
    for (const TensorRef& tensor : trainer->state()) {
      if (tensor.name != wrong.tensor) continue;
      const std::size_t place = tensor.count() > 1 ? 1 : 0;
      if (tensor.dtype == Dtype::kF32) {
        static_cast<float*>(tensor.data)[place] = static_cast<float>(wrong.number);
      } else {
        static_cast<double*>(tensor.data)[place] = wrong.number;
      }
    }
    ASSERT_TRUE(save_checkpoint(path(), *trainer, {}).ok());
    for (const Status& status : {load().status(), read_initial_policy(path()).status()}) {
      EXPECT_EQ(status.kind(), ErrorKind::kCorrupt) << wrong.tensor;
      EXPECT_NE(status.message().find(wrong.words), std::string::npos) << status.message();
    }
  }
}

// Such a network would take 34 GB before its tensor is checked.
TEST_F(LoadedPolicies, ThatClaimToBeTooLargeAreRefusedAtOnce) {
  const std::unique_ptr<Trainer> trainer = trained({});
  const SafetensorsFile file = read_safetensors(path()).take();
  std::vector<TensorRef> tensors = trainer->state();
  for (const auto& [key, claim, tensor] :
       {std::tuple{"config.hidden_sizes", "65536,65536,65536", "learner.params"},
        std::tuple{"config.num_envs", "64", "episodes.running_length"}}) {
    Metadata metadata = file.metadata;
    metadata[key] = claim;
    ASSERT_TRUE(write_safetensors(path(), tensors, metadata).ok());
    const Status status = load().status();
    EXPECT_EQ(status.kind(), ErrorKind::kMismatch) << status.message();
    EXPECT_NE(status.message().find(tensor), std::string::npos) << status.message();
    const Checkpoint checkpoint = read_checkpoint(path()).take();
    EXPECT_EQ(check_belongs(checkpoint, checkpoint.config).kind(), ErrorKind::kMismatch);
  }
}

}  // namespace
}  // namespace broadloom
