// Exchanges between ranks, and runs whose ranks fall behind.
// sanitizers: address, threads
#include "broadloom/core/ranks.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/core/exchange.h"
#include "broadloom/core/random.h"
#include "broadloom/env/forwarding_vec_env.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/learn/rank_sums.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/machine.h"
#include "broadloom/setup/rank_plan.h"
#include "broadloom/train/ranked_run.h"
#include "broadloom/train/trainer.h"
#include "tests/env/simulators.h"
#include "tests/ranks/thread_ranks.h"

namespace broadloom {
namespace {

// Lines that cross messages, pieces of no rank, and ranks without pieces.
TEST(Exchange, GivesEverybodyWhatEachHas) {
  constexpr std::size_t kLines = 3, kUnits = 1000003;
  const std::vector<int> bounds{0, 17, 17, 999983};
  std::vector<std::uint32_t> all(kLines * kUnits);
  std::iota(all.begin(), all.end(), 1u);
  ThreadWorld world(3);
  world.run([&](Ranks& ranks) {
    const auto own = [&](std::size_t unit) {
      const int u = static_cast<int>(unit);
      return u >= bounds[ranks.rank()] && u < bounds[ranks.rank() + 1];
    };
    std::vector<std::uint32_t> lines = all;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!own(i % kUnits)) lines[i] = 0;
    }
    std::string text = ranks.rank() == 2 ? "of the last" : "...........";
    Exchange exchange(ranks);
    exchange.add_lines(lines.data(), kLines, kUnits, sizeof(std::uint32_t), bounds);
    exchange.add(text.data(), text.size(), 2);
    exchange.finish();
    ASSERT_TRUE(ranks.status().ok()) << ranks.status().message();
    EXPECT_EQ(text, "of the last");
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::uint32_t expected = i % kUnits < 999983 ? all[i] : 0;
      ASSERT_EQ(lines[i], expected) << i;
    }
    EXPECT_EQ(ranks.of_first(ranks.is_first() ? "one text" : ""), "one text");
    EXPECT_EQ(ranks.all_of(10 * ranks.rank()), (std::vector<int>{0, 10, 20}));
    EXPECT_TRUE(ranks.any(ranks.rank() == 1));
    EXPECT_FALSE(ranks.any(false));
  });
}

// As PartialGradients adds on one rank.
std::vector<float> tree_sum(std::vector<std::vector<float>> partials) {
  const int count = static_cast<int>(partials.size());
  for (int stride = 1; stride < count; stride *= 2) {
    for (int p = 0; p + stride < count; p += 2 * stride) {
      add_into(partials[p].data(), partials[p + stride].data(), partials[p].size());
    }
  }
  return partials[0];
}

// Numbers of all sizes, of which every order of adding gives another sum.
std::vector<std::vector<float>> random_partials(int count, std::size_t parameters) {
  std::vector<std::vector<float>> out;
  for (int p = 0; p < count; ++p) {
    Random random(1, Purpose::kAction, static_cast<std::uint32_t>(p), 0);
    std::vector<float>& partial = out.emplace_back();
    for (std::size_t i = 0; i < parameters; ++i) {
      const float exponent = static_cast<float>(1u << (random.bits32() % 20));
      partial.push_back((random.uniform() - 0.5f) * exponent);
    }
  }
  return out;
}

TEST(RankSums, AddInTheTreeOfOneRank) {
  for (const std::size_t parameters : {std::size_t{5}, std::size_t{3001}, std::size_t{100003}}) {
    for (const int count : {1, 2, 5, 11, 16}) {
      const std::vector<std::vector<float>> partials = random_partials(count, parameters);
      const std::vector<float> expected = tree_sum(partials);
      for (const int size : {2, 3, 7, 8}) {
        ThreadWorld world(size);
        world.run([&](Ranks& ranks) {
          const RankRuns runs(count, size);
          const int first = runs.begin(ranks.rank()), last = runs.end(ranks.rank());
          std::vector<float> grads(parameters, -1.0f);
          if (first < last) {
            grads = tree_sum({partials.begin() + first, partials.begin() + last});
          }
          std::vector<int> notes(static_cast<std::size_t>(count));
          for (int p = first; p < last; ++p) notes[p] = 100 + p;
          RankSums sums(ranks, parameters);
          const std::int64_t before = ranks.traffic().received_bytes;
          sums.add(runs, grads.data(), reinterpret_cast<std::byte*>(notes.data()), sizeof(int));
          EXPECT_EQ(std::memcmp(grads.data(), expected.data(), parameters * sizeof(float)), 0)
              << parameters << " parameters, " << count << " of " << size << " ranks";
          for (int p = 0; p < count; ++p) EXPECT_EQ(notes[p], 100 + p);
          if (!ranks.is_first()) return;
          EXPECT_EQ(static_cast<std::size_t>(ranks.traffic().received_bytes - before),
                    RankSums::received_bytes(parameters, runs.nodes, size) +
                        sizeof(int) * static_cast<std::size_t>(count - (last - first)));
        });
      }
    }
  }
}

TEST(RankRuns, AreAlignedAndAsManyAsThereAreRanks) {
  for (int partials = 1; partials <= 16; ++partials) {
    for (int ranks = 1; ranks <= 20; ++ranks) {
      const RankRuns runs(partials, ranks);
      EXPECT_LE(runs.nodes, ranks);
      EXPECT_EQ(runs.end(runs.nodes - 1), partials);
      EXPECT_EQ(runs.begin(ranks), partials);
      for (int r = 0; r < runs.nodes; ++r) EXPECT_LT(runs.begin(r), runs.end(r));
      EXPECT_EQ(runs.length & (runs.length - 1), 0);
      if (runs.length > 1) EXPECT_GT((partials + runs.length / 2 - 1) / (runs.length / 2), ranks);
    }
  }
  EXPECT_EQ(RankRuns(16, 1).length, 16);
  EXPECT_EQ(RankRuns(16, 3).nodes, 2);
}

TEST(Ranks, AgreeOnTheErrorThatComesFirst) {
  ThreadWorld world(4);
  world.run([](Ranks& ranks) {
    EXPECT_TRUE(ranks.agree({}).ok());
    const int r = ranks.rank();
    Status mine;
    if (r == 1) mine = {ErrorKind::kIo, "the later one"};
    if (r >= 2) mine = {ErrorKind::kNumeric, "of rank " + std::to_string(r)};
    const Status agreed = ranks.agree(mine, r == 1 ? 9 : 3);
    EXPECT_EQ(agreed.kind(), ErrorKind::kNumeric);
    EXPECT_EQ(agreed.message(), "of rank 2");
    const Status parted = ranks.agree({}, 0, r == 3 ? 7 : 6);
    EXPECT_EQ(parted.kind(), ErrorKind::kMismatch);
    EXPECT_NE(parted.message().find("rank 3 of 4 does not have the parameters that rank 0 has"),
              std::string::npos);
  });
}

Config config_of(const Overrides& overrides) {
  Overrides all{{"env_id", "CartPole-v1"}, {"num_envs", "64"},          {"num_steps", "8"},
                {"num_minibatches", "1"},  {"total_timesteps", "5120"}, {"hidden_sizes", "8"}};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return resolve_config(all).take();
}

std::unique_ptr<VecEnv> envs_of(const Config& config) {
  VecEnvOptions options;
  options.num_envs = config.num_envs;
  options.seed = config.seed;
  return make_vec_env(config.env_id, {}, options).take();
}

// Rewards that are not finite, at these steps of these environments.
class Broken final : public ForwardingVecEnv {
 public:
  Broken(std::unique_ptr<VecEnv> inner, std::vector<std::pair<int, int>> places)
      : ForwardingVecEnv(std::move(inner)), places_(std::move(places)), steps_(num_envs()) {}
  Status step(int begin, int end, const StepRows& rows) override {
    BROADLOOM_TRY(inner().step(begin, end, rows));
    for (int n = begin; n < end; ++n, ++steps_[n - 1]) {
      for (const auto& [env, step] : places_) {
        if (env == n && step == steps_[n]) rows.rewards[n - begin] = 1.0f / 0.0f;
      }
    }
    return {};
  }

 private:
  std::vector<std::pair<int, int>> places_;
  std::vector<int> steps_;
};

// One rank's trouble is everybody's, and the same as if there were one.
TEST(RanksOfARun, SayWhatOneRankWouldSay) {
  const Config config = config_of({});
  for (const int size : {1, 2, 4}) {
    ThreadWorld world(size);
    world.run([&](Ranks& ranks) {
      auto envs = std::make_unique<Broken>(
          envs_of(config), std::vector<std::pair<int, int>>{{3, 13}, {60, 11}, {41, 11}});
      Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config, 1, std::move(envs), ranks);
      ASSERT_TRUE(trainer.ok()) << trainer.status().message();
      EXPECT_TRUE(trainer.value()->iterate().ok());
      EXPECT_NE(trainer.value()->iterate().message().find(
                    "reward of environment 41 is not finite at its step 11"),
                std::string::npos);
    });
  }
}

TEST(RanksOfARun, EndWhereOneIsGone) {
  const Config config = config_of({});
  ThreadWorld world(3);
  world.run([&](Ranks& ranks) {
    Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config, 1, ranks);
    ASSERT_TRUE(trainer.ok());
    EXPECT_TRUE(trainer.value()->iterate().ok());
    if (ranks.rank() == 1) return;
    const Status status = trainer.value()->iterate();
    EXPECT_EQ(status.kind(), ErrorKind::kIo);
    EXPECT_FALSE(trainer.value()->iterate().ok());
  });
}

TEST(RanksOfARun, SeeAtOnceThatOneHasOtherParameters) {
  const Config config = config_of({});
  ThreadWorld world(2);
  world.run([&](Ranks& ranks) {
    std::unique_ptr<Trainer> trainer = Trainer::create(config, 1, ranks).take();
    EXPECT_TRUE(trainer->iterate().ok());
    for (const TensorRef& tensor : trainer->state()) {
      if (tensor.name != "learner.adam_m" || ranks.is_first()) continue;
      static_cast<float*>(tensor.data)[0] += 1e-3f;
    }
    const Status status = trainer->iterate();
    EXPECT_EQ(status.kind(), ErrorKind::kMismatch) << status.message();
    EXPECT_NE(status.message().find("rank 1 of 2"), std::string::npos);
  });
}

// Bytes, in an iteration of three without a checkpoint.
double received_by_first(const Config& config) {
  double received = 0.0;
  ThreadWorld world(3);
  world.run([&](Ranks& ranks) {
    std::unique_ptr<Trainer> trainer = Trainer::create(config, 1, ranks).take();
    EXPECT_TRUE(trainer->iterate().ok());
    if (ranks.is_first()) received = static_cast<double>(ranks.traffic().received_bytes);
  });
  return received;
}

// Ranks receive the planned number of bytes.
TEST(RanksOfARun, TakeInWhatWasPlanned) {
  for (const Overrides& overrides :
       {Overrides{}, Overrides{{"norm_obs", "true"}, {"num_envs", "200"}, {"num_minibatches", "3"}},
        Overrides{{"env_id", "Pendulum-v1"}, {"hidden_sizes", "300,200"}, {"num_envs", "4"}}}) {
    const Config config = config_of(overrides);
    const double received = received_by_first(config);
    EXPECT_NEAR(plan_ranks(config, 3, *envs_of(config)).received(), received,
                200 + 0.001 * received);
  }
}

// PPO with RND sends a little less per partial gradient than PPO.
TEST(RanksOfARun, TakeInWhatWasPlannedOfACompanion) {
  const Config config =
      config_of({{"algorithm", "ppo_rnd"}, {"num_envs", "200"}, {"update_proportion", "1"}});
  const double received = received_by_first(config);
  const double planned = plan_ranks(config, 3, *envs_of(config)).received();
  EXPECT_LE(received, planned);
  EXPECT_GE(received, 0.98 * planned);
}

// Ranks of one machine share its memory.
TEST(RanksOfARun, FitTheirMachineTogether) {
  MemoryPlan plan;
  plan.block = 600;
  const std::vector<MemoryLimit> limits = memory_limits({.machine = 1000.0});
  EXPECT_TRUE(check_memory(Config(), plan, 1, limits).ok());
  // Each process has its own address space.
  EXPECT_TRUE(check_memory(Config(), plan, 2, memory_limits({.address_space = 1000.0})).ok());
  const Status status = check_memory(Config(), plan, 2, limits);
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  for (const char* part : {"in each of 2 ranks on one machine", "fewer ranks"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
}

// The trainer's messages are of all its state, however small the block is.
TEST(RanksOfARun, PlanMemoryForTheirState) {
  const Config config = config_of({{"hidden_sizes", "300,200"}, {"num_envs", "4"}});
  const std::size_t parameters = Trainer::create(config, 1).value()->network().parameter_count();
  EXPECT_GT(rank_bytes(RunSizes(config, *envs_of(config)), 2),
            RankSums::bytes(parameters, 2) + 3 * sizeof(float) * parameters);
  const Config rnd = config_of({{"algorithm", "ppo_rnd"}, {"rnd_hidden_sizes", "300,200"}});
  const auto envs = envs_of(rnd);
  const std::size_t beside = companion_size(rnd, envs->spec()).parameters;
  EXPECT_GT(rank_bytes(RunSizes(rnd, *envs), 2),
            RankSums::bytes(beside, 2) + 3 * sizeof(float) * beside);
}

// Stepped by something else that calls itself the same.
class OtherEngine final : public Simulator {
 public:
  explicit OtherEngine(std::unique_ptr<VecEnv> inner)
      : Simulator(std::move(inner), "CartPole-v1", {}), other_(Simulator::spec()) {
    other_.engine = "Physics 2";
    other_.plugin = {"theirs", "1.0", "cafe"};
  }
  const EnvSpec& spec() const override { return other_; }

 private:
  EnvSpec other_;
};

TEST(RanksOfARun, AreRefusedWhereOneHasAnotherSimulator) {
  const Config config = config_of({});
  ThreadWorld world(3);
  world.run([&](Ranks& ranks) {
    Status status;
    if (ranks.is_first()) {
      const std::unique_ptr<Trainer> trainer =
          Trainer::create(config, 1, std::make_unique<OtherEngine>(envs_of(config)), ranks).take();
      status = call_ranks({}, trainer.get(), ranks);
    } else {
      const Result<std::optional<RankedRun>> run = join_run(ranks);
      ASSERT_TRUE(run.ok() && run.value());
      status = follow_run(*run.value(), 1, ranks, {});
    }
    EXPECT_EQ(status.kind(), ErrorKind::kMismatch);
    EXPECT_EQ(status.message(),
              "rank 1 of 3 has other environments than rank 0: got 'Broadloom', expected 'Physics "
              "2, plug-in theirs 1.0 (cafe)'. Install the same on every machine; nothing was "
              "trained");
  });
}

// State that is shown only when asked for, and taken back: of others' environments, too.
TEST(RanksOfARun, HaveTheBitsOfOneWithSimulatorsThatSerialise) {
  const Config config = config_of({{"checkpoint_interval", "2"}});
  const auto state_of = [&](Ranks& ranks) {
    std::unique_ptr<Trainer> trainer =
        Trainer::create(config, 1, std::make_unique<Serialising>(envs_of(config), "CartPole-v1"),
                        ranks)
            .take();
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(trainer->iterate().ok());
    EXPECT_TRUE(trainer->capture().ok());
    std::string out;
    for (const TensorRef& tensor : trainer->state()) {
      out.append(static_cast<const char*>(tensor.data), tensor.bytes());
    }
    return out;
  };
  const std::string expected = state_of(Ranks::alone());
  ThreadWorld world(3);
  world.run([&](Ranks& ranks) { EXPECT_TRUE(state_of(ranks) == expected); });
}

TEST(RanksOfARun, NameASimulatorThatThrowsWhileItsStateIsCopied) {
  const Config config = config_of({});
  ThreadWorld world(2);
  world.run([&](Ranks& ranks) {
    auto envs = std::make_unique<ThrowingElsewhere>(envs_of(config), "CartPole-v1", "append_state",
                                                    1'000'000, false);
    ThrowingElsewhere& thrower = *envs;
    const std::unique_ptr<Trainer> trainer =
        Trainer::create(config, 1, std::move(envs), ranks).take();
    EXPECT_TRUE(trainer->copy_first_rank_state().ok());
    if (ranks.is_first()) thrower.throw_from_now_on();
    const Status failed = trainer->copy_first_rank_state();
    EXPECT_EQ(failed.kind(), ErrorKind::kIo);
    EXPECT_EQ(failed.message(),
              "append_state() of CartPole-v1 threw an exception, expected none: socket closed");
  });
}

TEST(RanksOfARun, DoNotSaveWhatTheyDoNotHave) {
  const Config config = config_of({{"checkpoint_interval", "3"}});
  ThreadWorld world(2);
  world.run([&](Ranks& ranks) {
    std::unique_ptr<Trainer> trainer = Trainer::create(config, 1, ranks).take();
    EXPECT_TRUE(trainer->capture().ok());
    EXPECT_TRUE(trainer->iterate().ok());
    EXPECT_NE(trainer->capture().message().find("gather_environments()"), std::string::npos);
    EXPECT_TRUE(trainer->gather_environments().ok());
    EXPECT_TRUE(trainer->capture().ok());
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(trainer->iterate().ok());
    EXPECT_TRUE(trainer->capture().ok());
  });
}

TEST(RanksOfARun, AreRefusedWhereEnvironmentsCannotBeShared) {
  const Config config = config_of({});
  ThreadWorld world(2);
  world.run([&](Ranks& ranks) {
    const Result<std::unique_ptr<Trainer>> whole = Trainer::create(
        config, 1, std::make_unique<WholeBatch>(envs_of(config), "CartPole-v1"), ranks);
    for (const char* fact : {"got 2 ranks", "CartPole-v1"}) {
      EXPECT_NE(whole.status().message().find(fact), std::string::npos) << fact;
    }
    const Result<std::unique_ptr<Trainer>> lost =
        Trainer::create(config, 1,
                        std::make_unique<Simulator>(envs_of(config), "CartPole-v1",
                                                    VecEnvTraits{.saves_state = false}),
                        ranks);
    EXPECT_NE(lost.status().message().find("do not save their state"), std::string::npos);
  });
}

}  // namespace
}  // namespace broadloom
