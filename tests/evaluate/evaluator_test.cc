// An evaluation's success rates and end reasons.
// sanitizers: address, threads
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/evaluate/eval_json.h"
#include "broadloom/math/random_rows.h"
#include "broadloom/record/json_line.h"
#include "broadloom/train/trainer.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

EvalEpisode episode(int reason, int success) {
  EvalEpisode out;
  out.episode_return = 1.0;
  out.length = 1;
  out.end.reason = static_cast<std::int8_t>(reason);
  out.end.success = static_cast<std::int8_t>(success);
  return out;
}

TEST(Evaluation, CountsReasonsAndSuccesses) {
  EnvSpec spec;
  spec.end_reasons = {"fell", "left", "time_limit"};
  spec.names_success = true;
  const EvalResult result =
      summarise({episode(0, 0), episode(2, 1), episode(2, 1), episode(-1, -1)}, spec);
  EXPECT_EQ(result.success_rate.value, 0.5);
  EXPECT_EQ(result.success_rate.count, 4);
  ASSERT_EQ(result.reasons.size(), 4u);
  EXPECT_EQ(result.reasons[0].count, 1);
  EXPECT_EQ(result.reasons[1].count, 0);
  EXPECT_EQ(result.reasons[2].count, 2);
  EXPECT_EQ(result.reasons[3].name, "unfinished");
  EXPECT_EQ(result.reasons[3].count, 1);
  EXPECT_EQ(result.failure_rate.value, 0.25);  // ended by itself, without success
  const std::string line = eval_json_line(result, 1);
  EXPECT_NE(line.find("\"success_rate\": 0.5"), std::string::npos) << line;
  EXPECT_NE(line.find("\"failure_rate\": 0.25"), std::string::npos) << line;
  EXPECT_NE(line.find("\"fell\": 1, \"left\": 0, \"time_limit\": 2, \"unfinished\": 1}"),
            std::string::npos)
      << line;
}

TEST(Evaluation, SuccessIsUnknownIfTheEnvironmentDefinesNone) {
  const EvalResult result = summarise({episode(0, -1), episode(1, -1)}, EnvSpec{});
  EXPECT_TRUE(std::isnan(result.success_rate.value));
  EXPECT_TRUE(std::isnan(result.failure_rate.value));
  EXPECT_NE(eval_json_line(result, 1).find("\"success_rate\": null"), std::string::npos);
}

TEST(Evaluation, ACommandsLineNamesItsKindOfActions) {
  EvalResult result = summarise({episode(0, -1)}, EnvSpec{});
  for (const EvalActions actions : {EvalActions::kMostLikely, EvalActions::kSampled}) {
    result.actions = actions;
    const std::string line = command_eval_json_line(result, {.seed = 7});
    const std::string end = std::string("\"seed\": 7, \"source\": \"command\", \"actions\": \"") +
                            actions_name(actions) + "\", \"max_steps\": 10000}\n";
    EXPECT_NE(line.find(end), std::string::npos) << line;
    std::optional<EvalActions> read;
    EXPECT_TRUE(read_actions("", read).ok());
    EXPECT_FALSE(read.has_value());
    EXPECT_TRUE(read_actions(actions_name(actions), read).ok());
    EXPECT_EQ(read, actions);
  }
  EXPECT_NE(eval_json_line(result, 7).find("\"source\": \"train\", \"actions\": \"sampled\"}"),
            std::string::npos);
  result.actions = EvalActions::kMostLikely;
  EXPECT_NE(eval_json_line(result, 7).find("\"source\": \"train\"}"), std::string::npos);
  std::optional<EvalActions> read;
  EXPECT_EQ(read_actions("greedy", read).kind(), ErrorKind::kInvalidConfig);
}

TEST(Evaluation, PlaysTheActionsThatTheConfigNames) {
  Config config = resolve_config({{"env_id", "CartPole-v1"}, {"total_timesteps", "512"}}).take();
  const EvalOptions sampled{.episodes = 20, .actions = EvalActions::kSampled};
  const std::unique_ptr<Trainer> trainer = Trainer::create(config, 1).take();
  const EvalResult asked = evaluate_policy(trainer->policy(), sampled).take();
  config.eval_actions = "sampled";
  const std::unique_ptr<Trainer> same = Trainer::create(config, 1).take();
  const EvalResult named = evaluate_policy(same->policy(), {.episodes = 20}).take();
  EXPECT_EQ(named.actions, EvalActions::kSampled);
  EXPECT_EQ(named.mean_return, asked.mean_return);
  const EvalResult most_likely = evaluate_policy(trainer->policy(), {.episodes = 20}).take();
  EXPECT_EQ(most_likely.actions, EvalActions::kMostLikely);
  EXPECT_NE(most_likely.mean_return, asked.mean_return);
}

TEST(Evaluation, NamesItsActionsInWords) {
  EXPECT_EQ(actions_words({"most_likely"}), "most likely actions");
  EXPECT_EQ(actions_words({"sampled"}), "sampled actions");
  EXPECT_EQ(actions_words({"most_likely", "sampled"}), "most likely or sampled actions");
}

std::vector<EvalEpisode> played(const Overrides& overrides, int threads,
                                EvalActions actions = EvalActions::kMostLikely, int count = 40) {
  const Config config = resolve_config(overrides).take();
  const std::unique_ptr<Trainer> trainer = Trainer::create(config, 1).take();
  const Result<std::vector<EvalEpisode>> episodes = play_episodes(
      trainer->policy(), {.episodes = count, .seed = 3, .threads = threads, .actions = actions});
  EXPECT_TRUE(episodes.ok()) << episodes.status().message();
  return episodes.value();
}

TEST(Evaluation, EpisodesEndForTheEnvironmentsReasons) {
  for (const EvalEpisode& e : played({{"max_episode_steps", "20"}}, 2)) {
    EXPECT_EQ(e.end.success == 1, e.length == 20 && e.end.reason == 2);
    EXPECT_EQ(e.end.stratum, -1);
  }
  // The most likely actions of an untrained policy may never reach the goal.
  for (const EvalEpisode& e : played({{"env_id", "CliffWalking-v1"}}, 2)) {
    EXPECT_EQ(e.end.reason == -1, e.length == 10000);
  }
}

// It is asked once a step of a shard.
std::function<bool()> stop_after(int steps) {
  return [left = std::make_shared<int>(steps)] { return (*left)-- <= 0; };
}

TEST(Evaluation, KeepsTheEpisodesThatHadEndedWhenItIsStopped) {
  const std::unique_ptr<Trainer> trainer =
      Trainer::create(resolve_config({{"max_episode_steps", "20"}}).take(), 1).take();
  const auto evaluate = [&](const std::function<bool()>& stop) {
    return evaluate_policy(trainer->policy(), {.episodes = 200, .should_stop = stop}).take();
  };
  const EvalResult whole = evaluate({});
  EXPECT_EQ(whole.episodes, 200);
  EXPECT_EQ(whole.asked, 200);
  EXPECT_EQ(eval_json_line(whole, 1).find("asked"), std::string::npos);
  const EvalResult part = evaluate(stop_after(50));
  EXPECT_GT(part.episodes, 0);
  EXPECT_LT(part.episodes, 200);
  EXPECT_EQ(part.asked, 200);
  EXPECT_LE(part.mean_length, 20.0);
  EXPECT_NE(eval_json_line(part, 1).find("\"asked\": 200"), std::string::npos);
  const EvalResult none = evaluate(stop_after(0));
  EXPECT_EQ(none.episodes, 0);
  EXPECT_TRUE(std::isnan(none.mean_return));
}

TEST(Evaluation, DrawsItsOwnStrataEvenlyWithAnyNumberOfThreads) {
  const Overrides overrides{
      {"strata.a.force", "5..15"}, {"strata.b.gravity", "1..2"}, {"strata_sampling", "stratified"}};
  const std::vector<EvalEpisode> one = played(overrides, 1), three = played(overrides, 3);
  int in_b = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].episode_return, three[i].episode_return);
    EXPECT_EQ(one[i].end, three[i].end);
    in_b += one[i].end.stratum;
  }
  EXPECT_EQ(in_b, 20);
}

bool same(const EvalEpisode& a, const EvalEpisode& b) {
  return a.episode_return == b.episode_return && a.length == b.length && a.end == b.end;
}

TEST(Evaluation, SampledActionsDependOnTheEpisodeAndNotOnThreads) {
  for (const char* env_id : {"CartPole-v1", "Pendulum-v1", "FrozenLake-v1"}) {
    const Overrides overrides{{"env_id", env_id}};
    const std::vector<EvalEpisode> one = played(overrides, 1, EvalActions::kSampled, 100);
    const std::vector<EvalEpisode> three = played(overrides, 3, EvalActions::kSampled, 100);
    const std::vector<EvalEpisode> fewer = played(overrides, 1, EvalActions::kSampled, 40);
    const std::vector<EvalEpisode> most_likely = played(overrides, 1);
    int others = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_TRUE(same(one[i], three[i])) << env_id << " " << i;
      if (i >= fewer.size()) continue;
      EXPECT_TRUE(same(one[i], fewer[i])) << env_id << " " << i;
      others += same(one[i], most_likely[i]) ? 0 : 1;
    }
    EXPECT_GT(others, 20) << env_id;
  }
}

// A step costs 0.1 times the square of the action. The mean of an untrained policy is almost zero,
// so the return shows the drawn actions.
TEST(Evaluation, SampledActionsHaveTheirOwnStreams) {
  const Overrides overrides{
      {"env_id", "MountainCarContinuous-v0"}, {"max_episode_steps", "1"}, {"log_std_init", "-2"}};
  const std::vector<EvalEpisode> episodes = played(overrides, 2, EvalActions::kSampled);
  std::vector<float> normals(64);
  const auto off = [&](Purpose purpose) {
    random_normals({3, purpose, 0, 0, 40}, 1, normals.data(), 64);
    double most = 0.0;
    for (std::size_t i = 0; i < episodes.size(); ++i) {
      const double size = std::sqrt(-10.0 * episodes[i].episode_return);
      most = std::max(most, std::abs(size - std::exp(-2.0) * std::abs(normals[i])));
    }
    return most;
  };
  EXPECT_LT(off(Purpose::kEvalAction), 0.05);
  EXPECT_GT(off(Purpose::kAction), 0.15);
}

// A policy that does not learn: training's episodes and sampled ones have one distribution.
void expect_training_like(const Overrides& overrides) {
  const Config config = resolve_config(overrides).take();
  const std::unique_ptr<Trainer> trainer = Trainer::create(config, 2).take();
  while (!trainer->finished()) ASSERT_TRUE(trainer->iterate().ok());
  const auto evaluated = [&](EvalActions actions) {
    return evaluate_policy(trainer->policy(),
                           {.episodes = 1000, .seed = 3, .threads = 2, .actions = actions})
        .take();
  };
  const double training = trainer->report().mean_return;  // of 100 episodes
  const EvalResult sampled = evaluated(EvalActions::kSampled);
  const double error = sampled.std_return * std::sqrt(1.0 / 100 + 1.0 / 1000);
  EXPECT_NEAR(training, sampled.mean_return, 3.29 * error);  // 99.9 %
  const EvalResult most_likely = evaluated(EvalActions::kMostLikely);
  EXPECT_TRUE(most_likely.ci_high < sampled.ci_low || most_likely.ci_low > sampled.ci_high);
}

TEST(Evaluation, SampledActionsHaveTrainingsReturn) {
  RELEASE_ONLY("repeats until an interval is narrow: the same code many times over");
  expect_training_like({{"env_id", "CartPole-v1"},
                        {"learning_rate", "0"},
                        {"num_envs", "32"},
                        {"total_timesteps", "8192"}});
  // Noise is wider than the bounds of actions, and each step costs the clipped action's square.
  expect_training_like({{"env_id", "MountainCarContinuous-v0"},
                        {"max_episode_steps", "200"},
                        {"learning_rate", "0"},
                        {"log_std_init", "1"},
                        {"norm_obs", "false"},
                        {"num_envs", "32"},
                        {"num_steps", "256"},
                        {"total_timesteps", "32768"}});
}

}  // namespace
}  // namespace broadloom
