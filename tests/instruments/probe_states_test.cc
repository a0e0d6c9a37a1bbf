#include "broadloom/instruments/probe_states.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "broadloom/env/env_maker.h"
#include "broadloom/env/forwarding_vec_env.h"
#include "broadloom/env/tasks/registry.h"

namespace broadloom {
namespace {

std::unique_ptr<VecEnv> make_envs(const char* id, VecEnvOptions options,
                                  const Overrides& own = {}) {
  Result<std::unique_ptr<VecEnv>> envs = make_vec_env(id, own, options);
  EXPECT_TRUE(envs.ok()) << envs.status().message();
  return envs.take();
}

TEST(ProbeStates, DependOnTheEnvironmentAlone) {
  VecEnvOptions one, other;
  other.num_envs = 37;
  other.seed = 5;
  other.stagger_starts = true;
  other.streams = StreamSet::kPanel;
  for (const char* id : {"CartPole-v1", "Pendulum-v1", "FrozenLake-v1"}) {
    const std::vector<float> states = make_probe_states(*make_envs(id, one)).policy;
    EXPECT_FALSE(states.empty());
    EXPECT_EQ(states, make_probe_states(*make_envs(id, other)).policy) << id;
  }
  other.max_episode_steps = 7;
  EXPECT_NE(make_probe_states(*make_envs("CartPole-v1", one)).policy,
            make_probe_states(*make_envs("CartPole-v1", other)).policy);
}

TEST(ProbeStates, LeaveTheEnvironmentsAlone) {
  VecEnvOptions options;
  options.num_envs = 3;
  const std::unique_ptr<VecEnv> envs = make_envs("CartPole-v1", options);
  std::vector<float> before(12), after(12);
  envs->observe(0, 3, before.data());
  make_probe_states(*envs);
  envs->observe(0, 3, after.data());
  EXPECT_EQ(before, after);
}

TEST(ProbeStates, OfBoxesAreManyAndDifferent) {
  const std::unique_ptr<VecEnv> envs = make_envs("Acrobot-v1", {});
  const std::vector<float> states = make_probe_states(*envs).policy;
  const std::size_t size = static_cast<std::size_t>(envs->spec().observation_size());
  ASSERT_EQ(states.size(), kProbeStates * size);
  std::set<std::vector<float>> rows;
  for (std::size_t i = 0; i < states.size(); i += size) {
    rows.insert({states.begin() + i, states.begin() + i + size});
  }
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(kProbeStates));
}

// Episodes that begin at their start alone, as those of most simulators.
class FromTheStart final : public ForwardingVecEnv, public EnvMaker {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const override {
    return options.stagger_starts ? nullptr : make_another(inner(), options);
  }
};

// As those that a simulator of another's steps, to which the middle of an episode is far.
class SlowOnes final : public ForwardingVecEnv {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  const EnvSpec& spec() const override {
    spec_ = inner().spec();
    spec_.engine = "Steam 1.0";
    return spec_;
  }

 private:
  mutable EnvSpec spec_;
};

TEST(ProbeStates, OfSimulatorsOfOthersArePlayed) {
  EXPECT_EQ(make_probe_states(SlowOnes(make_envs("Acrobot-v1", {}))).policy,
            make_probe_states(FromTheStart(make_envs("Acrobot-v1", {}))).policy);
}

TEST(ProbeStates, ArePlayedWhereEpisodesBeginAtTheirStartAlone) {
  const auto states = [](VecEnvOptions options) {
    return make_probe_states(FromTheStart(make_envs("Acrobot-v1", options))).policy;
  };
  const std::vector<float> one = states({});
  ASSERT_EQ(one.size(), std::size_t{kProbeStates} * 6);
  EXPECT_EQ(std::set<float>(one.begin(), one.end()).contains(0.0f), false);
  std::set<std::vector<float>> rows;
  for (std::size_t i = 0; i < one.size(); i += 6) rows.insert({&one[i], &one[i] + 6});
  EXPECT_GT(rows.size(), std::size_t{1000});
  EXPECT_EQ(one, states({.num_envs = 5, .seed = 9}));
}

TEST(ProbeStates, OfTablesAreEveryStateOnce) {
  EXPECT_EQ(probe_rows(SpaceKind::kDiscrete, 16), 16);
  const std::vector<float> states = make_probe_states(*make_envs("FrozenLake-v1", {})).policy;
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) EXPECT_EQ(states[i * 16 + j], i == j ? 1.0f : 0.0f);
  }
  EXPECT_EQ(probe_rows(SpaceKind::kDiscrete, 5000), kProbeStates);
}

}  // namespace
}  // namespace broadloom
