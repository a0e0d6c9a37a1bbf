// Watched episodes equal evaluated ones, and errors name what cannot be watched.
#include "broadloom/evaluate/watch.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "broadloom/env/drawable.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/train/trainer.h"
#include "tests/env/observation_envs.h"
#include "tests/env/simulators.h"
#include "tests/evaluate/watched.h"

namespace broadloom {
namespace {

std::vector<EvalEpisode> evaluated(const Trainer& trainer, const WatchOptions& options) {
  return play_episodes(trainer.policy(), {.episodes = options.episodes,
                                          .seed = options.seed,
                                          .threads = 2,
                                          .actions = options.actions})
      .take();
}

double sum(const std::vector<double>& rewards) {
  return std::accumulate(rewards.begin(), rewards.end(), 0.0);
}

TEST(Watch, ShowsTheEpisodesThatAnEvaluationPlays) {
  register_observation_envs();
  for (const char* env_id : {"CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Catch-v0"}) {
    const std::unique_ptr<Trainer> trainer = untrained({{"env_id", env_id}});
    for (const EvalActions actions : {EvalActions::kMostLikely, EvalActions::kSampled}) {
      const WatchOptions options{.episodes = 4, .seed = 5, .actions = actions};
      const WatchedEpisodes seen = watched(*trainer, options);
      const std::vector<EvalEpisode> expected = evaluated(*trainer, options);
      ASSERT_EQ(seen.episodes.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(seen.episodes[i].episode_return, expected[i].episode_return) << env_id;
        EXPECT_EQ(seen.episodes[i].end, expected[i].end) << env_id;
        const std::size_t steps = static_cast<std::size_t>(expected[i].length);
        const FilmedEpisode& film = seen.film.episodes()[i];
        EXPECT_EQ(film.frames.size(), steps + 1) << env_id;
        EXPECT_EQ(film.rewards.size(), steps) << env_id;
        EXPECT_EQ(film.words.size(), steps) << env_id;
        EXPECT_EQ(sum(film.rewards), expected[i].episode_return) << env_id;
      }
    }
  }
}

TEST(Watch, AFilmEndsWhereItIsStopped) {
  const std::unique_ptr<Trainer> trainer = untrained({{"env_id", "Pendulum-v1"}});
  int asked = 0;
  const WatchedEpisodes seen =
      watched(*trainer, {.episodes = 1, .should_stop = [&] { return ++asked > 7; }});
  EXPECT_TRUE(seen.episodes.front().stopped);
  EXPECT_EQ(seen.episodes.front().length, 7);
  EXPECT_EQ(seen.film.episodes().front().frames.size(), 8U);
}

TEST(Watch, WholeBatchesAreWatchedFromOneThread) {
  static const bool registered = [] {
    const EnvSpec spec = [] {
      EnvSpec whole = env_spec("CartPole-v1", {}).take();
      whole.id = "WatchedWhole-v0";
      return whole;
    }();
    return register_environment(
               simulator_entry(spec,
                               [](const VecEnvOptions& options) {
                                 Result<std::unique_ptr<VecEnv>> inner =
                                     make_vec_env("CartPole-v1", {}, options);
                                 if (!inner.ok()) return inner;
                                 return Result<std::unique_ptr<VecEnv>>(
                                     std::make_unique<WholeBatch>(inner.take(), "WatchedWhole-v0"));
                               }))
        .ok();
  }();
  ASSERT_TRUE(registered);
  const WatchOptions options{.episodes = 3};
  const WatchedEpisodes plain = watched(*untrained({{"env_id", "CartPole-v1"}}), options);
  const WatchedEpisodes whole = watched(*untrained({{"env_id", "WatchedWhole-v0"}}), options);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(drawn_frames(whole, i) == drawn_frames(plain, i)) << i;
}

TEST(Watch, NamesWhatCannotBeWatched) {
  register_observation_envs();
  const std::unique_ptr<Trainer> windy = untrained({{"env_id", "Windy-v0"}});
  const Status undrawn = watch_policy(windy->policy(), {}).status();
  EXPECT_EQ(undrawn.kind(), ErrorKind::kInvalidConfig);
  for (const char* words : {"Windy-v0 does not draw itself", "Box(1)", "static void draw("}) {
    EXPECT_NE(undrawn.message().find(words), std::string::npos) << undrawn.message();
  }
  for (const WatchOptions& options :
       {WatchOptions{.episodes = 0}, WatchOptions{.episodes = kMostWatchedEpisodes + 1},
        WatchOptions{.max_steps = 0}, WatchOptions{.max_steps = kLongestEvalEpisode + 1}}) {
    EXPECT_EQ(watch_policy(windy->policy(), options).status().kind(), ErrorKind::kInvalidConfig);
  }
  EXPECT_EQ(watch_run("no-such-run", {}).status().kind(), ErrorKind::kNotFound);
  const std::unique_ptr<Trainer> cart = untrained({{"env_id", "CartPole-v1"}});
  const Status flat = watch_policy(cart->policy(), {.view = WatchView::k3d}).status();
  EXPECT_EQ(flat.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(flat.message().find("CartPole-v1 has no view in three dimensions"), std::string::npos)
      << flat.message();
}

TEST(Watch, ViewsHaveNames) {
  EXPECT_EQ(watch_view_of("auto").value(), WatchView::kAuto);
  EXPECT_EQ(watch_view_of("3d").value(), WatchView::k3d);
  EXPECT_EQ(watch_view_of("drawn").value(), WatchView::kDrawn);
  EXPECT_EQ(watch_view_of("side").status().kind(), ErrorKind::kInvalidConfig);
}

}  // namespace
}  // namespace broadloom
