// What an evaluation says of success and of how episodes ended.
#include "broadloom/train/evaluator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "broadloom/record/json_line.h"
#include "broadloom/train/run_recorder.h"
#include "broadloom/train/trainer.h"

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
  const std::string line = eval_json_line(result, 1, "train");
  EXPECT_NE(line.find("\"success_rate\": 0.5"), std::string::npos) << line;
  EXPECT_NE(line.find("\"failure_rate\": 0.25"), std::string::npos) << line;
  EXPECT_NE(line.find("\"fell\": 1, \"left\": 0, \"time_limit\": 2, \"unfinished\": 1}"),
            std::string::npos)
      << line;
}

TEST(Evaluation, SuccessIsNotKnownWhereTheEnvironmentNamesNone) {
  const EvalResult result = summarise({episode(0, -1), episode(1, -1)}, EnvSpec{});
  EXPECT_TRUE(std::isnan(result.success_rate.value));
  EXPECT_TRUE(std::isnan(result.failure_rate.value));
  EXPECT_NE(eval_json_line(result, 1, "train").find("\"success_rate\": null"), std::string::npos);
}

std::vector<EvalEpisode> played(const Overrides& overrides, int threads) {
  const Config config = resolve_config(overrides).take();
  const std::unique_ptr<Trainer> trainer = Trainer::create(config, 1).take();
  const Result<std::vector<EvalEpisode>> episodes =
      play_episodes(config, trainer->network(), trainer->params(), trainer->obs_normalizer(),
                    {.episodes = 40, .seed = 3, .threads = threads});
  EXPECT_TRUE(episodes.ok()) << episodes.status().message();
  return episodes.value();
}

TEST(Evaluation, EpisodesEndAsTheEnvironmentSays) {
  for (const EvalEpisode& e : played({{"max_episode_steps", "20"}}, 2)) {
    EXPECT_EQ(e.end.success == 1, e.length == 20 && e.end.reason == 2);
    EXPECT_EQ(e.end.stratum, -1);
  }
  // The most likely actions of an untrained policy need not ever reach the goal.
  for (const EvalEpisode& e : played({{"env_id", "CliffWalking-v1"}}, 2)) {
    EXPECT_EQ(e.end.reason == -1, e.length == 10000);
  }
}

TEST(Evaluation, DrawsStrataOfItsOwnEvenlyForAnyNumberOfThreads) {
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

}  // namespace
}  // namespace broadloom
