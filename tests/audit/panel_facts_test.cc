// Panels that are held out, and panels with a planted fault.
#include "research/audit/panel_facts.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "broadloom/env/batched_env.h"
#include "broadloom/env/tasks/register_environment.h"
#include "broadloom/env/tasks/simulator_entry.h"
#include "tests/env/commanded.h"

namespace broadloom {
namespace {

Panel panel_of(const std::string& text) {
  Result<Panel> panel = parse_panel(text, "panel.toml");
  EXPECT_TRUE(panel.ok()) << panel.status().message();
  return panel.take();
}

RunFacts facts_of(const Overrides& run, const Panel& panel) {
  Overrides all{{"num_envs", "64"}};
  all.insert(all.end(), run.begin(), run.end());
  Result<Config> config = resolve_config(all);
  EXPECT_TRUE(config.ok()) << config.status().message();
  RunFacts facts;
  const Status status = add_panel_facts(config.value(), panel, facts);
  EXPECT_TRUE(status.ok()) << status.message();
  return facts;
}

TEST(PanelFacts, AcceptHeldOutPanels) {
  for (const char* id : {"CartPole-v1", "Pendulum-v1", "MountainCar-v0", "Acrobot-v1"}) {
    const std::string env = "env_id = \"" + std::string(id) + "\"\n";
    const RunFacts facts = facts_of({{"env_id", id}}, panel_of(env + "seeds = [1, 2, 3]"));
    EXPECT_EQ(facts.panel_starts, 0.0) << id;
    EXPECT_TRUE(std::isnan(facts.panel_worlds)) << id;
  }
}

// Episodes begin in few states, which both have.
TEST(PanelFacts, AreUndefinedWithFewStarts) {
  for (const char* id : {"FrozenLake-v1", "MinAtar/Breakout-v0"}) {
    const std::string env = "env_id = \"" + std::string(id) + "\"\n";
    EXPECT_TRUE(std::isnan(facts_of({{"env_id", id}}, panel_of(env)).panel_starts)) << id;
  }
}

// A simulator that ignores the seeds it gets.
Result<std::unique_ptr<VecEnv>> self_seeded(const VecEnvOptions& options) {
  VecEnvOptions own = options;
  own.streams = StreamSet::kTraining;
  own.seed = 7;
  EnvSpec spec = Commanded::spec({});
  spec.id = "SelfSeeded-v0";
  spec.set_time_limit(options.max_episode_steps);
  return std::unique_ptr<VecEnv>(
      std::make_unique<BatchedEnv<Commanded>>(Commanded::Params{}, spec, own));
}

TEST(PanelFacts, FindASimulatorThatSeedsItself) {
  EnvSpec spec = Commanded::spec({});
  spec.id = "SelfSeeded-v0";
  ASSERT_TRUE(register_environment(simulator_entry(spec, self_seeded)).ok());
  const RunFacts facts =
      facts_of({{"env_id", "SelfSeeded-v0"}}, panel_of("env_id = \"SelfSeeded-v0\"\nepisodes = 9"));
  EXPECT_EQ(facts.panel_starts, 1.0);
}

TEST(PanelFacts, FindWorldsThatTrainingAlsoHas) {
  ASSERT_TRUE(register_environment<Commanded>("Worlds-v0").ok());
  const Panel panel = panel_of(R"(env_id = "Worlds-v0"
[env]
world = 2
[perturbations.fast]
env.tempo = 2.0
[perturbations.home]
env.world = 1
)");
  EXPECT_DOUBLE_EQ(facts_of({{"env_id", "Worlds-v0"}}, panel).panel_worlds, 1.0 / 3.0);
  EXPECT_EQ(facts_of({{"env_id", "Worlds-v0"}, {"env.world", "5"}}, panel).panel_worlds, 0.0);
  EXPECT_EQ(facts_of({{"env_id", "Worlds-v0"}}, panel).panel_starts, 0.0);
}

TEST(PanelFacts, WorldSeedsOverlapIfBothHaveASeed) {
  const WorldSeeds none{5, 0}, low{0, 200}, next{200, 50}, inside{199, 1}, all{0, ~0ull};
  EXPECT_FALSE(none.overlap(all));
  EXPECT_FALSE(all.overlap(none));
  EXPECT_FALSE(low.overlap(next));
  EXPECT_FALSE(next.overlap(low));
  EXPECT_TRUE(low.overlap(inside));
  EXPECT_TRUE(inside.overlap(low));
  EXPECT_TRUE(all.overlap(next));
}

}  // namespace
}  // namespace broadloom
