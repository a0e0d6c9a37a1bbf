// Curricula: levels that depend on success.
#include "broadloom/env/curriculum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "tests/env/rollout.h"

namespace broadloom {
namespace {

const std::vector<std::string> kStrata{"easy", "hard", "middle"};  // sorted by name, as in a spec

CurriculumOptions rule(double up, double down, int episodes) {
  return {{"easy", "middle", "hard"}, up, down, episodes};
}

Random stream(std::uint64_t episode) { return {7, Purpose::kCurriculum, 0, episode}; }

// The levels of one environment after each of its episodes. 1 is a success.
std::vector<int> levels(const CurriculumOptions& options, const std::vector<int>& successes) {
  Curriculum curriculum(options, kStrata, 1);
  std::vector<int> out;
  for (const int success : successes) {
    curriculum.episode_ended(0, success == 1, stream(out.size()));
    out.push_back(curriculum.level(0));
  }
  return out;
}

TEST(Curriculum, GoesUpAndDownButNotBelowTheLowest) {
  EXPECT_EQ(levels(rule(0.8, 0.4, 1), {0, 1, 1, 0, 0, 0, 1}),
            (std::vector<int>{0, 1, 2, 1, 0, 0, 1}));
}

TEST(Curriculum, DecidesAfterTheGivenNumberOfEpisodes) {
  // 4 of 5 are 0.8 exactly: up. 3 and 2 of 5: neither. 1 of 5: down.
  EXPECT_EQ(levels(rule(0.8, 0.4, 5), {1, 0, 1, 1, 1,  //
                                       1, 1, 1, 0, 0,  //
                                       0, 0, 0, 1, 1,  //
                                       1, 0, 0, 0, 0}),
            (std::vector<int>{0, 0, 0, 0, 1,  //
                              1, 1, 1, 1, 1,  //
                              1, 1, 1, 1, 1,  //
                              1, 1, 1, 1, 0}));
}

TEST(Curriculum, AcceptsThresholdsZeroAndOne) {
  EXPECT_EQ(levels(rule(1.0, 0.0, 2), {1, 1, 0, 0, 0, 0}), (std::vector<int>{0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(levels(rule(0.5, 0.5, 2), {1, 0, 0, 0}), (std::vector<int>{0, 1, 1, 0}));
}

TEST(Curriculum, LevelsAreStrataInTheOrderOfTheList) {
  Curriculum curriculum(rule(0.8, 0.4, 1), kStrata, 2);
  EXPECT_EQ(curriculum.stratum(0), 0);
  curriculum.episode_ended(0, true, stream(0));
  EXPECT_EQ(curriculum.stratum(0), 2);
  curriculum.episode_ended(0, true, stream(1));
  EXPECT_EQ(curriculum.stratum(0), 1);
  EXPECT_EQ(curriculum.level(1), 0);  // another environment has its own
}

// After the top level, all levels are equally likely (five standard errors). The stream decides.
TEST(Curriculum, DrawsALevelUniformlyAfterTheTop) {
  constexpr int kTimes = 6000;
  std::vector<int> counts(3);
  for (int k = 0; k < kTimes; ++k) {
    Curriculum curriculum(rule(0.8, 0.4, 1), kStrata, 1);
    for (int i = 0; i < 2; ++i) curriculum.episode_ended(0, true, stream(0));
    ASSERT_EQ(curriculum.level(0), 2);
    Curriculum twin = curriculum;
    curriculum.episode_ended(0, true, stream(static_cast<std::uint64_t>(k)));
    twin.episode_ended(0, true, stream(static_cast<std::uint64_t>(k)));
    ASSERT_EQ(curriculum.level(0), twin.level(0));
    counts[curriculum.level(0)] += 1;
  }
  const double expected = kTimes / 3.0;
  for (const int count : counts) {
    EXPECT_NEAR(count, expected, 5 * std::sqrt(expected * 2.0 / 3.0));
  }
}

// Two levels with success probability p and one episode per decision are a Markov chain. It goes up
// with probability p; from the upper level it goes down with 1 - p, and with p it draws a level. So
// it spends a share p / (p + 1 - p + p / 2) = 2 p / (2 + p) of the time on the upper level.
TEST(Curriculum, SpendsTheTimeOfItsMarkovChainOnEachLevel) {
  constexpr int kTimes = 40000;
  for (const double p : {0.2, 0.5, 0.9}) {
    Curriculum curriculum({{"easy", "hard"}, 0.8, 0.4, 1}, kStrata, 1);
    double upper = 0.0;
    for (int k = 0; k < kTimes; ++k) {
      Random chance(3, Purpose::kUser, 1, static_cast<std::uint64_t>(k));
      curriculum.episode_ended(0, chance.uniform() < p, stream(static_cast<std::uint64_t>(k)));
      upper += curriculum.level(0);
    }
    // Neighbouring moments are correlated; a quarter of them count as independent.
    EXPECT_NEAR(upper / kTimes, 2 * p / (2 + p), 5 * std::sqrt(0.25 / (kTimes / 4.0))) << p;
  }
}

const Overrides kPoles{{"strata.easy.half_length", "0.4..0.6"},
                       {"strata.easy.tau", "0.02"},
                       {"strata.hard.half_length", "0.05..0.06"},
                       {"strata.hard.weight", "9"},
                       {"strata.middle.half_length", "0.2..0.3"}};

// A limit that random actions often reach, so that levels go up and down.
VecEnvOptions options(int num_envs = 24, int families = 0) {
  VecEnvOptions out{.num_envs = num_envs, .seed = 4, .max_episode_steps = 15};
  out.seed_families = families;
  out.curriculum = rule(0.8, 0.4, 2);
  return out;
}

// Applies the rule to the outcomes that an environment reports.
TEST(CurriculumBatch, DrawsEpisodesFromTheStrataOfTheRule) {
  const std::unique_ptr<VecEnv> env = make("CartPole-v1", options(), kPoles);
  Curriculum expected(options().curriculum, env->spec().strata, 24);
  std::vector<std::uint64_t> episode(24, 0);
  std::vector<int> seen(3);
  for (int block = 0; block < 150; ++block) {
    const Rollout out = roll(*env, 10 * block, 10, 24);
    for (std::size_t i = 0; i < out.ends.size(); ++i) {
      const EpisodeEnd& end = out.ends[i];
      if (end.reason < 0) continue;
      const int n = static_cast<int>(i % 24);
      ASSERT_EQ(end.stratum, expected.stratum(n));
      seen[end.stratum] += 1;
      const Random random(4, Purpose::kCurriculum, static_cast<std::uint32_t>(n), episode[n]++);
      expected.episode_ended(n, end.success == 1, random);
    }
    for (int n = 0; n < 24; ++n) {
      ASSERT_EQ(level_of(*env, n), expected.level(n));
      ASSERT_EQ(stratum_of(*env, n), expected.stratum(n));
    }
  }
  for (const int count : seen) EXPECT_GT(count, 20);
}

// Episodes draw constants from the ranges of their level, whatever the weights.
TEST(CurriculumBatch, DrawsConstantsOfTheLevel) {
  const Result<Strata> strata =
      make_strata({{"strata.a.x", "1..2"}, {"strata.b.x", "5..7"}, {"strata.b.weight", "0"}},
                  {{"x", true, 0, {}}}, "test");
  ASSERT_TRUE(strata.ok()) << strata.status().message();
  double sum = 0.0;
  for (int e = 0; e < 2000; ++e) {
    double x = 0.0;
    strata.value().draw_within(1, {}, 3, e, &x);
    ASSERT_TRUE(x >= 5.0 && x <= 7.0);
    sum += x;
  }
  EXPECT_NEAR(sum / 2000, 6.0, 5 * 2.0 / std::sqrt(12.0 * 2000));
  double sampled = 0.0, drawn_within = 0.0;  // must equal a sampled draw from the stratum
  EXPECT_EQ(strata.value().draw({}, 3, 0, &sampled), 0);
  strata.value().draw_within(0, {}, 3, 0, &drawn_within);
  EXPECT_EQ(sampled, drawn_within);
}

TEST(CurriculumBatch, IsTheSameWithAndWithoutEnds) {
  const Rollout asked = roll(*make("CartPole-v1", options(), kPoles), 0, 100, 24);
  const std::unique_ptr<VecEnv> env = make("CartPole-v1", options(), kPoles);
  std::vector<float> actions(24), seen(24 * 4), last(24 * 4), rewards(24);
  std::vector<std::uint8_t> terminated(24), truncated(24);
  for (int t = 0; t < 100; ++t) {
    draw_actions(env->spec(), 0, 24, t, 1 << 30, actions.data());
    ASSERT_TRUE(env->step(0, 24,
                          {actions.data(), seen.data(), rewards.data(), terminated.data(),
                           truncated.data(), last.data()})
                    .ok());
    ASSERT_TRUE(std::equal(seen.begin(), seen.end(), asked.observations.begin() + t * 24 * 4));
  }
}

TEST(CurriculumBatch, BitsDoNotDependOnShardsAndSurviveARestore) {
  for (const Overrides& more : {Overrides{}, Overrides{{"disturb.push_interval", "9"}}}) {
    Overrides keys = kPoles;
    keys.insert(keys.end(), more.begin(), more.end());
    VecEnvOptions curriculum_options = options(24, 6);
    curriculum_options.stagger_starts = true;
    const std::unique_ptr<VecEnv> whole = make("CartPole-v1", curriculum_options, keys);
    for (int n = 0; n < 24; ++n) EXPECT_EQ(level_of(*whole, n), 0);  // staggering does not count
    EXPECT_EQ(roll(*whole, 0, 90, 24),
              roll(*make("CartPole-v1", curriculum_options, keys), 0, 90, 5));
    const std::unique_ptr<VecEnv> other = make("CartPole-v1", curriculum_options, keys);
    copy_state(*whole, *other);
    EXPECT_EQ(roll(*whole, 90, 90, 24), roll(*other, 90, 90, 24));
    int highest = 0;
    for (int n = 0; n < 24; ++n) {
      EXPECT_EQ(level_of(*whole, n), level_of(*other, n));
      highest = std::max(highest, level_of(*whole, n));
    }
    EXPECT_GT(highest, 0);
  }
}

// Levels and actions belong to the environment, draws to the family. So environments of one family
// with equal actions have equal episodes.
TEST(CurriculumBatch, KeepsAFamilyEqualUnderEqualActions) {
  const std::unique_ptr<VecEnv> families = make("CartPole-v1", options(24, 3), kPoles);
  const std::unique_ptr<VecEnv> alone = make("CartPole-v1", options(3), kPoles);
  const Rollout all = roll(*families, 0, 200, 24, 3), three = roll(*alone, 0, 200, 3, 3);
  for (std::size_t i = 0; i < all.rewards.size(); ++i) {
    const std::size_t expected = i / 24 * 3 + i % 24 % 3;
    ASSERT_EQ(all.ends[i], three.ends[expected]);
    ASSERT_EQ(all.observations[i * 4 + 2], three.observations[expected * 4 + 2]);
  }
  for (int n = 0; n < 24; ++n) EXPECT_EQ(level_of(*families, n), level_of(*alone, n % 3));
}

TEST(CurriculumBatch, IsIgnoredByEvaluation) {
  VecEnvOptions curriculum_options = options(), without = options();
  curriculum_options.streams = without.streams = StreamSet::kEvaluation;
  without.curriculum = {};
  const std::unique_ptr<VecEnv> env = make("CartPole-v1", curriculum_options, kPoles);
  EXPECT_EQ(level_of(*env, 0), -1);
  EXPECT_EQ(roll(*env, 0, 60, 24), roll(*make("CartPole-v1", without, kPoles), 0, 60, 24));
}

TEST(CurriculumBatch, ExplainsErrors) {
  const auto error = [](const CurriculumOptions& curriculum, const Overrides& keys = kPoles,
                        StrataSampling sampling = StrataSampling::kSampled) {
    const Result<std::unique_ptr<VecEnv>> env =
        make_vec_env("CartPole-v1", keys,
                     {.num_envs = 2, .strata_sampling = sampling, .curriculum = curriculum});
    EXPECT_FALSE(env.ok());
    if (env.ok()) return std::string();
    EXPECT_EQ(env.status().kind(), ErrorKind::kInvalidConfig);
    return env.status().message();
  };
  const auto has = [](const std::string& text, const char* fact) {
    EXPECT_NE(text.find(fact), std::string::npos) << text;
  };
  has(error({{"easy", "midle"}}), "unknown stratum 'midle'; did you mean 'middle'?");
  has(error({{"easy", "hard", "easy"}}), "'easy' twice");
  has(error({{"easy"}}), "at least 2 strata");
  has(error({{"easy", "hard"}}, {}), "no strata");
  has(error(rule(0.4, 0.8, 1)), "got 0.8 and 0.4");
  has(error(rule(1.2, 0.8, 1)), "0 <= curriculum_down <= curriculum_up <= 1");
  has(error(rule(0.8, -0.1, 1)), "0 <= curriculum_down");
  has(error(rule(NAN, 0.1, 1)), "0 <= curriculum_down");
  has(error(rule(0.8, 0.4, 0)), "curriculum_episodes: got 0");
  has(error(rule(0.8, 0.4, 1), kPoles, StrataSampling::kStratified), "use 'sampled'");
  EnvSpec silent;
  silent.id = "Silent";
  silent.strata = kStrata;
  has(check_curriculum(rule(0.8, 0.4, 1), silent, StrataSampling::kSampled).message(), "Silent");
}

}  // namespace
}  // namespace broadloom
