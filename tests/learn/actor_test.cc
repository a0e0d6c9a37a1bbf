// Evaluations and measurements of a policy use its algorithm's actor.
#include "broadloom/rollout/actor.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "broadloom/evaluate/evaluator.h"
#include "research/lab/frozen.h"
#include "research/lab/gradient_study.h"
#include "tests/learn/a2c.h"
#include "tests/learn/trained.h"

namespace broadloom {
namespace {

// Takes one fixed action in collection and another in evaluation, and ignores the network.
class Headstrong final : public Actor {
 public:
  static constexpr float kExploring = 2.0f, kBest = 3.0f;
  void act(const ActRows& rows) const override {
    std::fill_n(rows.actions, rows.streams.rows, kExploring);
    std::fill_n(rows.log_probs, rows.streams.rows, 0.0f);
  }
  void act_best(const ActRows& rows) const override {
    std::fill_n(rows.actions, rows.streams.rows, kBest);
  }
};

// algorithm: "headstrong", which acts so, or "two_values", with a critic that has them.
Config config_with(const std::string& algorithm, const Overrides& overrides = {}) {
  static const bool once = [] {
    AlgorithmEntry entry = A2c::entry();
    entry.name = "headstrong";
    entry.make_actor = [](const Config&, const ActorCritic&) -> std::unique_ptr<Actor> {
      return std::make_unique<Headstrong>();
    };
    EXPECT_TRUE(register_algorithm(entry).ok());
    entry = A2c::entry();
    entry.name = "two_values";
    entry.value_outputs = 2;
    EXPECT_TRUE(register_algorithm(entry).ok());
    return true;
  }();
  (void)once;
  Overrides all{{"algorithm", algorithm}, {"env_id", "Taxi-v3"}, {"hidden_sizes", "8"}};
  all.insert(all.end(), overrides.begin(), overrides.end());
  Result<Config> config = resolve_config(all);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.take();
}

struct ActionsTaken final : EpisodeWatcher {
  void see(const SeenState& state) override {
    if (state.action != nullptr) actions.push_back(*state.action);
  }
  void take(int, double) override {}
  std::vector<float> actions;
};

void expect_all(const std::vector<float>& actions, float expected) {
  ASSERT_FALSE(actions.empty());
  for (const float action : actions) ASSERT_EQ(action, expected);
}

TEST(ActorsOfOnesOwn, PlayEpisodesAndFrozenBlocks) {
  const auto trainer = Trainer::create(config_with("headstrong"), 1).take();
  ActionsTaken exploring, best;
  ASSERT_TRUE(play_episodes(trainer->policy(), {.episodes = 3,
                                                .actions = EvalActions::kSampled,
                                                .longest_episode = 20,
                                                .watcher = &exploring})
                  .ok());
  expect_all(exploring.actions, Headstrong::kExploring);
  ASSERT_TRUE(
      play_episodes(trainer->policy(), {.episodes = 3, .longest_episode = 20, .watcher = &best})
          .ok());
  expect_all(best.actions, Headstrong::kBest);
  ASSERT_TRUE(trainer->iterate().ok());
  expect_all({trainer->block().actions.begin(), trainer->block().actions.end()},
             Headstrong::kExploring);
  ThreadPool pool(1);
  const auto block = BlockSource(trainer->policy(), nullptr, 1, pool).collect({4, 8}, 1, 0);
  ASSERT_TRUE(block.ok()) << block.status().message();
  expect_all({block.value()->actions.begin(), block.value()->actions.end()},
             Headstrong::kExploring);
}

TEST(Instruments, SayWhatTheyNeedOfAnAlgorithm) {
  const auto refusal = [](const std::string& algorithm, const std::string& instrument) {
    const Config config = config_with(algorithm, {{"instruments", instrument}});
    return Trainer::create(config, 1).status().message();
  };
  for (const char* name : {"gradient", "policy", "audit"}) {
    EXPECT_NE(refusal("headstrong", name).find("drawn from"), std::string::npos) << name;
  }
  EXPECT_NE(refusal("two_values", "gradient").find("2"), std::string::npos);
  EXPECT_EQ(refusal("two_values", "policy,audit,plasticity,coverage"), "");
  EXPECT_EQ(refusal("headstrong", "plasticity,coverage"), "");
}

TEST(ActorsOfOnesOwn, HaveNoGradientToStudy) {
  const auto trainer = Trainer::create(config_with("headstrong"), 1).take();
  const std::string refused =
      study_gradients(trainer->policy(), GradientStudyOptions(), {}).status().message();
  EXPECT_NE(refused.find("headstrong"), std::string::npos) << refused;
}

}  // namespace
}  // namespace broadloom
