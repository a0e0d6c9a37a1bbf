// Strata: constants drawn anew for every episode.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broadloom/env/drawn_params.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/strata.h"
#include "broadloom/env/strata_formulas.h"
#include "broadloom/env/tasks/classic/cart_pole.h"
#include "broadloom/math/isa.h"
#include "tests/env/rollout.h"

namespace broadloom {
namespace {

const Overrides kTwoStrata{{"strata.narrow.half_length", "0.4..0.6"},
                           {"strata.wide.half_length", "0.1..2"},
                           {"strata.wide.force", "5..15"},
                           {"strata.wide.weight", "3"}};

Strata cart_pole_strata(const Overrides& keys) {
  Result<Strata> strata = make_strata(keys, param_fields<CartPole>(), "CartPole-v1");
  EXPECT_TRUE(strata.ok()) << strata.status().message();
  return strata.take();
}

struct Draw {
  int stratum;
  CartPole::Params params;
};
Draw draw(const Strata& strata, const StrataStream& stream, int lane, int episode) {
  Draw out{-1, {}};
  out.stratum = strata.draw(stream, static_cast<std::uint32_t>(lane), episode, &out.params);
  return out;
}

TEST(Strata, ListDrawableConstants) {
  std::vector<std::string> names;
  for (const ParamField& field : param_fields<CartPole>()) {
    EXPECT_TRUE(field.drawable);
    names.push_back(field.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"gravity", "cart_mass", "pole_mass", "half_length",
                                             "force", "tau"}));
}

TEST(Strata, IgnoreTheOrderOfKeys) {
  Overrides reversed(kTwoStrata.rbegin(), kTwoStrata.rend());
  const Strata a = cart_pole_strata(kTwoStrata), b = cart_pole_strata(reversed);
  ASSERT_EQ(a.all().size(), 2u);
  EXPECT_EQ(a.all()[0].name, "narrow");
  for (int episode = 0; episode < 20; ++episode) {
    const Draw x = draw(a, {.families = 4}, 1, episode), y = draw(b, {.families = 4}, 1, episode);
    EXPECT_EQ(x.stratum, y.stratum);
    EXPECT_EQ(x.params.half_length, y.params.half_length);
    EXPECT_EQ(x.params.force, y.params.force);
  }
}

// Shares and means of both kinds of sampling over many draws, within five standard errors.
TEST(Strata, DrawsHaveTheirWeightsAndAreUniform) {
  const Strata strata = cart_pole_strata(kTwoStrata);
  for (const StrataSampling sampling : {StrataSampling::kSampled, StrataSampling::kStratified}) {
    for (const int families : {1, 7, 32}) {
      const StrataStream stream{.seed = 5, .families = families, .sampling = sampling};
      const int episodes = 8000 / families;
      double wide = 0, length = 0, force = 0;
      for (int e = 0; e < episodes; ++e) {
        const Draw d = draw(strata, stream, e % families, e);
        EXPECT_EQ(d.params.gravity, 9.8);
        if (d.stratum == 0) {
          ASSERT_TRUE(d.params.half_length >= 0.4 && d.params.half_length <= 0.6);
          ASSERT_EQ(d.params.force, 10.0);
          continue;
        }
        ASSERT_TRUE(d.params.half_length >= 0.1 && d.params.half_length <= 2.0);
        ASSERT_TRUE(d.params.force >= 5.0 && d.params.force <= 15.0);
        wide += 1;
        length += d.params.half_length;
        force += d.params.force;
      }
      const double error = std::sqrt(0.75 * 0.25 / episodes);
      EXPECT_NEAR(wide / episodes, 0.75, 5 * error) << families;
      EXPECT_NEAR(length / wide, 1.05, 5 * 1.9 / std::sqrt(12.0 * wide)) << families;
      EXPECT_NEAR(force / wide, 10.0, 5 * 10.0 / std::sqrt(12.0 * wide)) << families;
    }
  }
}

// In every round, each stratum has its share, rounded up or down. Each of its bins is used once.
TEST(Strata, StratifiedRoundsTakeEveryBinOnce) {
  const Strata strata = cart_pole_strata(kTwoStrata);
  for (const int families : {1, 2, 7, 16, 100}) {
    const StrataStream stream{
        .seed = 5, .families = families, .sampling = StrataSampling::kStratified};
    for (int episode = 0; episode < 30; ++episode) {
      std::vector<double> narrow, lengths, forces;
      for (int lane = 0; lane < families; ++lane) {
        const Draw d = draw(strata, stream, lane, episode);
        if (d.stratum == 0) {
          narrow.push_back((d.params.half_length - 0.4) / 0.2);
        } else {
          lengths.push_back((d.params.half_length - 0.1) / 1.9);
          forces.push_back((d.params.force - 5.0) / 10.0);
        }
      }
      EXPECT_GE(lengths.size(), std::floor(0.75 * families));
      EXPECT_LE(lengths.size(), std::ceil(0.75 * families));
      for (std::vector<double>* shares : {&narrow, &lengths, &forces}) {
        std::set<int> bins;
        for (const double share : *shares) {
          const double n = static_cast<double>(shares->size());
          bins.insert(static_cast<int>(std::min(share * n + 1e-9, n - 1)));
        }
        EXPECT_EQ(bins.size(), shares->size()) << families << " families, episode " << episode;
      }
    }
  }
}

// Bins of two constants come in different orders.
TEST(Strata, StratifiedConstantsAreNotCorrelated) {
  const Strata strata =
      cart_pole_strata({{"strata.a.half_length", "1..2"}, {"strata.a.force", "1..2"}});
  const StrataStream stream{.seed = 5, .families = 50, .sampling = StrataSampling::kStratified};
  double sum = 0.0;
  for (int e = 0; e < 100; ++e) {
    for (int lane = 0; lane < 50; ++lane) {
      const Draw d = draw(strata, stream, lane, e);
      sum += 12.0 * (d.params.half_length - 1.5) * (d.params.force - 1.5) / 5000.0;
    }
  }
  EXPECT_NEAR(sum, 0.0, 5.0 / std::sqrt(5000.0));
}

TEST(Strata, PermutationsAreOneToOneAndEvenlySpread) {
  for (const std::uint32_t n : {1u, 2u, 3u, 5u, 64u, 1000u}) {
    std::vector<bool> taken(n, false);
    for (std::uint32_t i = 0; i < n; ++i) {
      Random random(1, Purpose::kUser, 0, n);
      const std::uint32_t place = permuted(i, n, random);
      ASSERT_LT(place, n);
      EXPECT_FALSE(taken[place]);
      taken[place] = true;
    }
  }
  constexpr int kTimes = 5000;
  for (const std::uint32_t n : {2u, 5u, 12u}) {
    std::vector<int> counts(n);
    for (int k = 0; k < kTimes; ++k) {
      Random random(2, Purpose::kUser, n, static_cast<std::uint64_t>(k));
      counts[permuted(1, n, random)] += 1;
    }
    const double expected = double(kTimes) / n;
    for (const int count : counts) EXPECT_NEAR(count, expected, 5 * std::sqrt(expected)) << n;
  }
}

const VecEnvOptions kOptions{.num_envs = 24,
                             .seed = 4,
                             .max_episode_steps = 23,
                             .strata_sampling = StrataSampling::kStratified};

TEST(StrataBatch, DrawsConstantsForEveryEpisode) {
  const std::unique_ptr<VecEnv> env = make("CartPole-v1", kOptions, kTwoStrata);
  EXPECT_EQ(env->spec().strata, (std::vector<std::string>{"narrow", "wide"}));
  int wide = 0;
  for (int n = 0; n < 24; ++n) wide += stratum_of(*env, n);
  EXPECT_EQ(wide, 18);
  const Rollout out = roll(*env, 0, 200, 24);
  int ends = 0;
  for (const EpisodeEnd& end : out.ends) {
    if (end.reason < 0) continue;
    ASSERT_TRUE(end.stratum == 0 || end.stratum == 1);
    ++ends;
  }
  EXPECT_GT(ends, 100);
  EXPECT_NE(out, roll(*make("CartPole-v1", kOptions), 0, 200, 24));
  EXPECT_EQ(stratum_of(*make("CartPole-v1", kOptions), 3), -1);
}

// A range of width 0 equals the option with its value.
TEST(StrataBatch, TreatsAFixedConstantAsAnOption) {
  Rollout drawn = roll(*make("CartPole-v1", kOptions, {{"strata.one.gravity", "5"}}), 0, 80, 24);
  const Rollout option = roll(*make("CartPole-v1", kOptions, {{"gravity", "5"}}), 0, 80, 24);
  for (EpisodeEnd& end : drawn.ends) end.stratum = -1;
  EXPECT_EQ(drawn, option);
}

// A constant that the stratum does not draw has its default, not the value of an earlier episode.
TEST(StrataBatch, KeepsNoConstantsOfEarlierEpisodes) {
  const Overrides keys{{"strata.a.gravity", "20..30"}, {"strata.b.force", "10"}};
  const std::unique_ptr<VecEnv> env =
      make("CartPole-v1", {.num_envs = 24, .max_episode_steps = 5}, keys);
  std::vector<TensorRef> state;
  env->append_state("e", state);
  const auto params = std::find_if(state.begin(), state.end(),
                                   [](const TensorRef& t) { return t.name == "e.params"; });
  ASSERT_NE(params, state.end());
  const auto* drawn = static_cast<const CartPole::Params*>(params->data);
  for (int round = 0; round < 20; ++round) {
    roll(*env, 5 * round, 5, 24);
    for (int n = 0; n < 24; ++n) EXPECT_EQ(drawn[n].gravity == 9.8, stratum_of(*env, n) == 1);
  }
}

TEST(StrataBatch, BitsDoNotDependOnShardsOrInstructionSet) {
  VecEnvOptions options = kOptions;
  options.num_envs = 600;
  options.stagger_starts = true;
  for (const char* id : {"CartPole-v1", "Acrobot-v1", "Pendulum-v1"}) {
    const Overrides keys{{"strata.a.gravity", "8..12"}, {"strata.b.gravity", "1..20"}};
    const Rollout whole = roll(*make(id, options, keys), 0, 50, 600);
    for (const std::string& isa : supported_isas()) {
      ASSERT_TRUE(set_isa(isa).ok());
      for (const int shard : {97, 600}) {
        EXPECT_EQ(whole, roll(*make(id, options, keys), 0, 50, shard)) << id << isa << shard;
      }
    }
    ASSERT_TRUE(set_isa("auto").ok());
  }
}

TEST(StrataBatch, ContinuesEquallyAfterARestore) {
  const std::unique_ptr<VecEnv> whole = make("CartPole-v1", kOptions, kTwoStrata);
  roll(*whole, 0, 37, 24);
  const std::unique_ptr<VecEnv> other = make("CartPole-v1", kOptions, kTwoStrata);
  copy_state(*whole, *other);
  EXPECT_EQ(roll(*whole, 37, 90, 24), roll(*other, 37, 90, 24));
}

TEST(StrataBatch, SharesConstantsWithinAFamilyOnly) {
  VecEnvOptions options = kOptions;
  options.seed_families = 6;
  const auto first = [&](const VecEnvOptions& o) {
    return roll(*make("CartPole-v1", o, kTwoStrata), 0, 1, 24, 6);
  };
  const Rollout out = first(options);
  for (std::size_t n = 6; n < 24; ++n) {
    for (int d = 0; d < 4; ++d) {
      EXPECT_EQ(out.observations[n * 4 + d], out.observations[(n - 6) * 4 + d]);
    }
  }
  options.streams = StreamSet::kEvaluation;
  EXPECT_NE(out, first(options));
}

TEST(StrataBatch, IsKeptByAnother) {
  const std::unique_ptr<VecEnv> env = make("CartPole-v1", kOptions, kTwoStrata);
  const std::unique_ptr<VecEnv> another = make_another(*env, kOptions);
  EXPECT_EQ(another->spec().strata, env->spec().strata);
  EXPECT_EQ(roll(*env, 0, 60, 24), roll(*another, 0, 60, 24));
}

TEST(StrataBatch, WidensSpaces) {
  const EnvSpec spec =
      env_spec("Pendulum-v1", {{"strata.a.max_torque", "1..3"}, {"strata.a.max_speed", "4..9"}})
          .value();
  EXPECT_EQ(spec.action.low[0], -3.0f);
  EXPECT_EQ(spec.action.high[0], 3.0f);
  EXPECT_EQ(spec.observation.high[2], 9.0f);
  EXPECT_FALSE(spec.has_score_range);
  EXPECT_TRUE(env_spec("Pendulum-v1", {}).value().has_score_range);
}

TEST(StrataBatch, ExplainsErrors) {
  const auto expect_error = [](const char* id, const Overrides& keys, const char* words) {
    const Result<std::unique_ptr<VecEnv>> env = make_vec_env(id, keys, {.num_envs = 2});
    ASSERT_FALSE(env.ok()) << words;
    EXPECT_EQ(env.status().kind(), ErrorKind::kInvalidConfig);
    EXPECT_NE(env.status().message().find(words), std::string::npos) << env.status().message();
  };
  expect_error("CartPole-v1", {{"strata.a.half_lenght", "1..2"}}, "did you mean 'half_length'?");
  expect_error("CartPole-v1", {{"strata.a.half_length", "2..1"}}, "upside down");
  expect_error("CartPole-v1", {{"strata.a.half_length", "-1..1"}}, "within 0.001 to 1000");
  expect_error("CartPole-v1", {{"strata.a.half_length", "short"}}, "expected a range such as");
  expect_error("CartPole-v1", {{"strata.a.half_length", "1..nan"}}, "expected a range such as");
  expect_error("CartPole-v1", {{"strata.a.half_length", "1,2,3"}}, "expected a range such as");
  expect_error("CartPole-v1", {{"strata.a.half_length", ""}}, "expected a range such as");
  expect_error("CartPole-v1", {{"strata.a.weight", "2"}}, "stratum 'a' is empty");
  expect_error("CartPole-v1", {{"strata.a.weight", "-2"}}, "at least 0");
  expect_error("CartPole-v1", {{"strata.a.weight", "0"}, {"strata.a.force", "1..2"}},
               "positive sum");
  expect_error("CartPole-v1", {{"strata.a", "2"}}, "expected strata.<name>.<constant>");
  expect_error("CartPole-v1", {{"strata..force", "2"}}, "expected strata.<name>.<constant>");
  expect_error("CliffWalking-v1", {{"strata.a.is_slippery", "0..1"}}, "is not a float");
  expect_error("Taxi-v3", {{"strata.a.force", "0..1"}}, "has no constants");
  expect_error("FrozenLake-v1", {{"strata.a.success_rate", "0..1"}}, "has no constants");
}

}  // namespace
}  // namespace broadloom
