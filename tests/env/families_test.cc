// Seed families: environments of one family share draws, and evaluation shares none with training.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "tests/env/rollout.h"

namespace broadloom {
namespace {

class EveryFamily : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryFamily, IsByDefaultOnePerEnvironment) {
  const auto roll_families = [&](int families) {
    return roll(*make(GetParam(), {.num_envs = 12, .seed = 4, .seed_families = families}), 0, 60,
                12);
  };
  const Rollout expected = roll(*make(GetParam(), {.num_envs = 12, .seed = 4}), 0, 60, 12);
  EXPECT_EQ(roll_families(0), expected);
  EXPECT_EQ(roll_families(12), expected);
}

// Under the same actions, environments of one family have equal episodes. These equal those of the
// environment with the family's number in a run of F independent environments.
TEST_P(EveryFamily, IsEqualUnderEqualActions) {
  const VecEnvOptions options{
      .num_envs = 12, .seed = 4, .max_episode_steps = 17, .seed_families = 3};
  const Rollout families = roll(*make(GetParam(), options), 0, 60, 12, 3);
  const VecEnvOptions three{.num_envs = 3, .seed = 4, .max_episode_steps = 17};
  const Rollout alone = roll(*make(GetParam(), three), 0, 60, 3, 3);
  const std::size_t width = alone.observations.size() / alone.rewards.size();
  for (std::size_t t = 0; t < 60; ++t) {
    for (std::size_t n = 0; n < 12; ++n) {
      const std::size_t got = t * 12 + n, expected = t * 3 + n % 3;
      ASSERT_EQ(families.rewards[got], alone.rewards[expected]);
      ASSERT_EQ(families.terminated[got], alone.terminated[expected]);
      ASSERT_EQ(families.truncated[got], alone.truncated[expected]);
      for (std::size_t d = 0; d < width; ++d) {
        ASSERT_EQ(families.observations[got * width + d], alone.observations[expected * width + d]);
      }
    }
  }
}

TEST_P(EveryFamily, BitsDoNotDependOnShardsAndSurviveARestore) {
  const VecEnvOptions options{.num_envs = 12,
                              .seed = 4,
                              .stagger_starts = true,
                              .max_episode_steps = 17,
                              .seed_families = 4};
  const std::unique_ptr<VecEnv> whole = make(GetParam(), options);
  EXPECT_EQ(roll(*whole, 0, 40, 12), roll(*make(GetParam(), options), 0, 40, 5));
  const std::unique_ptr<VecEnv> other = make(GetParam(), options);
  copy_state(*whole, *other);
  EXPECT_EQ(roll(*whole, 40, 40, 12), roll(*other, 40, 40, 12));
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryFamily, ::testing::ValuesIn(all_ids()), name_of);

TEST(Families, MustDivideTheNumberOfEnvironments) {
  for (const int families : {-1, 5, 13}) {
    const Result<std::unique_ptr<VecEnv>> env =
        make_vec_env("CartPole-v1", {}, {.num_envs = 12, .seed_families = families});
    ASSERT_FALSE(env.ok()) << families;
    EXPECT_EQ(env.status().kind(), ErrorKind::kInvalidConfig);
    EXPECT_NE(env.status().message().find("num_envs = 12"), std::string::npos);
  }
}

// First observations of many episodes, without duplicates.
std::set<std::array<float, 4>> starts(StreamSet streams, int families) {
  const std::unique_ptr<VecEnv> env = make("CartPole-v1", {.num_envs = 64,
                                                           .seed = 9,
                                                           .streams = streams,
                                                           .max_episode_steps = 1,
                                                           .seed_families = families});
  std::set<std::array<float, 4>> out;
  const Rollout rollout = roll(*env, 0, 200, 64);  // one episode per step
  for (std::size_t i = 0; i < rollout.rewards.size(); ++i) {
    const float* o = &rollout.observations[i * 4];
    out.insert({o[0], o[1], o[2], o[3]});
  }
  return out;
}

TEST(Families, ShareNoDrawsWithEvaluationAndPanels) {
  auto held_out = starts(StreamSet::kEvaluation, 0);
  EXPECT_EQ(held_out.size(), 64u * 200u);
  held_out.merge(starts(StreamSet::kPanel, 0));
  EXPECT_EQ(held_out.size(), 2u * 64u * 200u);  // evaluation and panels share none either
  for (const int families : {0, 1, 8}) {
    const auto training = starts(StreamSet::kTraining, families);
    EXPECT_EQ(training.size(), 200u * (families == 0 ? 64u : static_cast<unsigned>(families)));
    std::vector<std::array<float, 4>> both;
    std::set_intersection(training.begin(), training.end(), held_out.begin(), held_out.end(),
                          std::back_inserter(both));
    EXPECT_TRUE(both.empty()) << families;
  }
}

// The purpose has its own bits of the counter. So streams of two purposes differ in every draw, for
// all lanes and indices.
TEST(Families, HaveSeparateStreamsForTrainingAndEvaluation) {
  std::set<std::array<std::uint64_t, 2>> seen;
  std::size_t streams = 0;
  for (const Purpose purpose :
       {Purpose::kTrainReset, Purpose::kTrainStep, Purpose::kStagger, Purpose::kTrainStrata,
        Purpose::kEvalReset, Purpose::kEvalStep, Purpose::kEvalStrata, Purpose::kPanelReset,
        Purpose::kPanelStep, Purpose::kPanelStrata, Purpose::kTrainDisturb, Purpose::kEvalDisturb,
        Purpose::kPanelDisturb, Purpose::kAction, Purpose::kEvalAction}) {
    for (const std::uint32_t lane : {0u, 1u, 0xfffffu, 0x80000000u}) {
      for (const std::uint64_t index :
           {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 56) - 1}) {
        Random random(3, purpose, lane, index);
        const std::uint64_t first = random.bits64();
        seen.insert({first, random.bits64()});
        ++streams;
      }
    }
  }
  EXPECT_EQ(seen.size(), streams);
}

}  // namespace
}  // namespace broadloom
