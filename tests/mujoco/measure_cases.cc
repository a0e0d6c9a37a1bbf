// Measures of the quadruped besides its reward: in steps, evaluations and panels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bridges/bridges.h"
#include "broadloom/env/step_counter.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/panel_result.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/trainer.h"
#include "tests/train/folder.h"

namespace broadloom::mujoco {
namespace {

// A constant command and no noise.
const Overrides kSteady = {{"command_interval", "1000"}, {"noise_level", "0"}};

// The critic observes the command (at 45) and the trunk's own speeds: turning (at 48) and over
// ground (at 57).
TEST(Measures, AreErrorsAgainstTheCommand) {
  register_bridges();
  Result<std::unique_ptr<VecEnv>> made = make_vec_env("Quadruped-v0", kSteady, {});
  ASSERT_TRUE(made.ok()) << made.status().message();
  VecEnv& envs = *made.value();
  const EnvSpec& spec = envs.spec();
  ASSERT_EQ(spec.measures.size(), 2u);
  EXPECT_EQ(spec.measures[0].name, "speed_error");
  EXPECT_EQ(spec.measures[1].unit, "rad/s");
  ASSERT_EQ(spec.counted(), spec.reward_terms.size() + 2);
  std::vector<float> action(12, 0.0f), seen(48), last(48), critic(123), last_critic(123);
  float reward = 0.0f;
  std::uint8_t terminated = 0, truncated = 0;
  double speed_error = 0.0, turn_error = 0.0;
  for (int t = 0; t < 20; ++t) {
    action[2] = t % 2 == 0 ? 0.5f : -0.5f;
    StepRows rows{action.data(), seen.data(), &reward, &terminated, &truncated, last.data()};
    rows.critic_observations = critic.data();
    rows.final_critic_observations = last_critic.data();
    ASSERT_TRUE(envs.step(0, 1, rows).ok());
    ASSERT_EQ(terminated + truncated, 0);
    speed_error += std::hypot(critic[45] - critic[57], critic[46] - critic[58]);
    turn_error += std::fabs(critic[47] - critic[50]);
  }
  std::vector<double> sums(spec.counted());
  capability<StepCounter>(envs)->take_step_sums(0, sums);
  EXPECT_GT(speed_error, 1.0);
  EXPECT_NEAR(sums[spec.paid_terms()], speed_error, 1e-5);
  EXPECT_NEAR(sums[spec.paid_terms() + 1], turn_error, 1e-5);
  capability<StepCounter>(envs)->take_step_sums(0, sums);
  EXPECT_EQ(*std::max_element(sums.begin(), sums.end()), 0.0) << "they begin anew";
}

std::unique_ptr<Trainer> young_policy() {
  register_bridges();
  const Result<Config> config = resolve_config({{"env_id", "Quadruped-v0"},
                                                {"num_envs", "2"},
                                                {"num_steps", "8"},
                                                {"num_minibatches", "1"},
                                                {"hidden_sizes", "8,8"},
                                                {"max_episode_steps", "30"},
                                                {"total_timesteps", "1000"}});
  EXPECT_TRUE(config.ok()) << config.status().message();
  Result<std::unique_ptr<Trainer>> made = Trainer::create(config.value(), 1);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.take();
}

TEST(Measures, AreMeansOverEpisodesInEvaluations) {
  const std::unique_ptr<Trainer> trainer = young_policy();
  for (const int longest : {kLongestEvalEpisode, 7}) {  // whole episodes, and truncated ones
    EvalOptions options;
    options.episodes = 5;
    options.longest_episode = longest;
    const Result<std::vector<EvalEpisode>> episodes = play_episodes(trainer->policy(), options);
    ASSERT_TRUE(episodes.ok()) << episodes.status().message();
    double mean = 0.0;
    for (const EvalEpisode& episode : episodes.value()) {
      ASSERT_EQ(episode.measures.size(), 2u);
      EXPECT_EQ(episode.length, std::min(longest, 30));
      EXPECT_GT(episode.measures[0], 0.0);
      mean += episode.measures[0] / 5.0;
    }
    const EvalResult result = summarise(episodes.value(), trainer->spec());
    ASSERT_EQ(result.measures.size(), 2u);
    EXPECT_NEAR(result.measures[0].mean.value, mean, 1e-12);
    EXPECT_LT(result.measures[0].mean.low, mean);
    options.threads = 2;
    const Result<std::vector<EvalEpisode>> again = play_episodes(trainer->policy(), options);
    ASSERT_TRUE(again.ok());
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_EQ(again.value()[i].measures, episodes.value()[i].measures);
  }
}

// Shards step on after some episodes have ended. Later steps must not count for these. Each episode
// alone gives the same.
TEST(Measures, CountOnlyTheirEpisode) {
  const std::unique_ptr<Trainer> trainer = young_policy();
  EvalScene scene;
  scene.env_id = "Quadruped-v0";
  scene.env_options = {{"push_speed", "60"}, {"push_wait", "0.1"}};  // most of them fall
  scene.envs.num_envs = 6;
  scene.envs.max_episode_steps = 150;
  const auto played = [&](int most) {
    scene.longest_episode = most;
    return play_scenes({scene}, trainer->policy(), 1).value().front();
  };
  const std::vector<EvalEpisode> whole = played(150);
  const auto [shortest, longest] = std::minmax_element(
      whole.begin(), whole.end(), [](const auto& a, const auto& b) { return a.length < b.length; });
  ASSERT_LT(shortest->length, longest->length);
  const std::vector<EvalEpisode> cut = played(shortest->length);
  const auto i = static_cast<std::size_t>(shortest - whole.begin());
  EXPECT_EQ(cut[i].length, shortest->length);
  EXPECT_EQ(cut[i].measures, shortest->measures);
}

class PanelMeasures : public InFolder {};

// Results are read back unchanged, also those of versions without measures.
TEST_F(PanelMeasures, AreKept) {
  const std::unique_ptr<Trainer> trainer = young_policy();
  const Result<Panel> panel = parse_panel(
      "env_id = \"Quadruped-v0\"\nepisodes = 3\nseeds = [1]\nmax_episode_steps = 20\n"
      "[perturbations.slippery]\nenv.friction_scale = 0.4\n",
      "p.toml");
  ASSERT_TRUE(panel.ok()) << panel.status().message();
  Result<PanelResult> played = play_panel(panel.value(), trainer->policy(), 1);
  ASSERT_TRUE(played.ok()) << played.status().message();
  const auto written = [&](const PanelResult& result) {
    std::ofstream(at("panel.json")) << panel_result_json(result);
    return read_panel_result(at("panel.json"));
  };
  const Result<PanelResult> read = written(played.value());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().episodes[1][2].measures, played.value().episodes[1][2].measures);
  EXPECT_EQ(score_of(read.value(), panel_groups(panel.value()).back()).measures.size(), 2u);
  const std::string record = panel_record_json(played.value());
  PanelResult earlier = played.take();
  for (std::vector<EvalEpisode>& row : earlier.episodes) {
    for (EvalEpisode& episode : row) episode.measures.clear();
  }
  const Result<PanelResult> old = written(earlier);
  ASSERT_TRUE(old.ok()) << old.status().message();
  EXPECT_TRUE(score_of(old.value(), panel_groups(panel.value()).back()).measures.empty());
  const auto hash = [](const std::string& json) {
    const std::size_t first = json.find("episodes_hash");
    return json.substr(first, json.find(',', first) - first);
  };
  EXPECT_EQ(hash(panel_record_json(earlier)), hash(record));
}

}  // namespace
}  // namespace broadloom::mujoco
