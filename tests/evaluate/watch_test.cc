// What is watched is what is evaluated, and what cannot be watched is said.
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
#include "research/report/watch_page.h"
#include "tests/env/observation_envs.h"
#include "tests/env/simulators.h"

namespace broadloom {
namespace {

std::unique_ptr<Trainer> trainer_of(const Overrides& overrides) {
  const Config config = resolve_config(overrides).take();
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config, 1);
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  return trainer.take();
}

WatchedEpisodes watched(const Trainer& trainer, const WatchOptions& options) {
  Result<WatchedEpisodes> result = watch_policy(trainer.policy(), options);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.take();
}

std::vector<EvalEpisode> evaluated(const Trainer& trainer, const WatchOptions& options) {
  return play_episodes(trainer.policy(), {.episodes = options.episodes,
                                          .seed = options.seed,
                                          .threads = 2,
                                          .actions = options.actions})
      .take();
}

// Every frame of an episode, shape by shape: indices depend on the order of episodes.
std::vector<std::vector<Shape>> drawn(const WatchedEpisodes& of, std::size_t episode) {
  std::vector<std::vector<Shape>> frames;
  for (const std::vector<int>& frame : of.film.episodes()[episode].frames) {
    frames.emplace_back();
    for (const int index : frame) {
      frames.back().push_back(of.film.shapes()[static_cast<std::size_t>(index)]);
    }
  }
  return frames;
}

double sum(const std::vector<double>& rewards) {
  return std::accumulate(rewards.begin(), rewards.end(), 0.0);
}

TEST(Watch, ShowsTheEpisodesThatAnEvaluationPlays) {
  register_observation_envs();
  for (const char* env_id : {"CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Catch-v0"}) {
    const std::unique_ptr<Trainer> trainer = trainer_of({{"env_id", env_id}});
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

// The last frame is where the episode ended, and not where the next one begins.
TEST(Watch, TheLastFrameIsTheLastState) {
  const std::unique_ptr<Trainer> trainer = trainer_of({{"env_id", "FrozenLake-v1"}});
  const WatchedEpisodes seen =
      watched(*trainer, {.episodes = 10, .actions = EvalActions::kSampled});
  int fell = 0;
  for (std::size_t i = 0; i < seen.episodes.size(); ++i) {
    if (end_words(seen.episodes[i], seen.spec) != "fell_in_hole") continue;
    const std::vector<int>& last = seen.film.episodes()[i].frames.back();
    std::vector<double> walker;
    std::vector<std::vector<double>> holes;
    for (const int index : last) {
      const Shape& shape = seen.film.shapes()[static_cast<std::size_t>(index)];
      if (shape.kind != Shape::Kind::kCircle) continue;
      if (shape.ink == Ink::kInk) walker = {shape.numbers[0], shape.numbers[1]};
      if (shape.ink == Ink::kMuted) holes.push_back({shape.numbers[0], shape.numbers[1]});
    }
    EXPECT_NE(std::find(holes.begin(), holes.end(), walker), holes.end());
    ++fell;
  }
  EXPECT_GT(fell, 0);
}

// A small image is drawn for who does not draw itself: bat and ball, and last the ball that the bat
// has missed, beside it in the lowest row.
TEST(Watch, ImagesAreDrawnToTheLast) {
  register_observation_envs();
  const std::unique_ptr<Trainer> trainer = trainer_of({{"env_id", "Catch-v0"}});
  const WatchedEpisodes seen = watched(*trainer, {.episodes = 5});
  EXPECT_EQ(seen.film.planes(), 1);
  int missed = 0;
  for (std::size_t i = 0; i < seen.episodes.size(); ++i) {
    if (end_words(seen.episodes[i], seen.spec) != "terminated") continue;
    std::vector<double> rows;
    const std::vector<Shape> last = drawn(seen, i).back();
    for (const Shape& shape : last) {
      if (shape.ink == Ink::kInk) rows.push_back(shape.numbers[1]);
    }
    EXPECT_EQ(rows, (std::vector<double>{0.0, 0.0}));
    ++missed;
  }
  EXPECT_GT(missed, 0);
}

TEST(Watch, LongEpisodesAreCutAndSaySo) {
  const std::unique_ptr<Trainer> trainer = trainer_of({{"env_id", "Pendulum-v1"}});
  const WatchedEpisodes whole = watched(*trainer, {}), cut = watched(*trainer, {.max_steps = 5});
  EXPECT_EQ(end_words(whole.episodes[0], whole.spec), "time_limit");
  EXPECT_EQ(end_words(cut.episodes[0], cut.spec), "cut");
  const FilmedEpisode &all = whole.film.episodes()[0], &part = cut.film.episodes()[0];
  ASSERT_EQ(part.frames.size(), 6u);
  EXPECT_EQ(part.rewards, std::vector<double>(all.rewards.begin(), all.rewards.begin() + 5));
  EXPECT_EQ(part.actions, std::vector<float>(all.actions.begin(), all.actions.begin() + 5));
  // The state that it is cut in is the one that the whole episode goes on from, without an action.
  const auto pole = [](const WatchedEpisodes& of, std::size_t frame) {
    const std::vector<int>& shapes = of.film.episodes()[0].frames[frame];
    return of.film.shapes()[static_cast<std::size_t>(shapes[1])].numbers;
  };
  EXPECT_EQ(pole(cut, 5), pole(whole, 5));
  EXPECT_NE(pole(cut, 5), pole(cut, 4));
}

TEST(Watch, WhatStepsAllAtOnceIsWatchedFromOneThread) {
  static const bool registered = [] {
    const EnvSpec spec = [] {
      EnvSpec of = env_spec("CartPole-v1", {}).take();
      of.id = "WatchedWhole-v0";
      return of;
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
  const WatchedEpisodes plain = watched(*trainer_of({{"env_id", "CartPole-v1"}}), options);
  const WatchedEpisodes whole = watched(*trainer_of({{"env_id", "WatchedWhole-v0"}}), options);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(drawn(whole, i) == drawn(plain, i)) << i;
}

TEST(Watch, SaysWhatCannotBeWatched) {
  register_observation_envs();
  const std::unique_ptr<Trainer> windy = trainer_of({{"env_id", "Windy-v0"}});
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
  const std::unique_ptr<Trainer> cart = trainer_of({{"env_id", "CartPole-v1"}});
  const Status flat = watch_policy(cart->policy(), {.view = WatchView::k3d}).status();
  EXPECT_EQ(flat.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(flat.message().find("CartPole-v1 has no view in three dimensions"), std::string::npos)
      << flat.message();
}

// Where a simulator has a view in three dimensions, and this machine can render it or not.
class Viewed final : public Simulator, public Drawable {
 public:
  Viewed(std::unique_ptr<VecEnv> inner, const std::string& id, ViewKind view)
      : Simulator(std::move(inner), id, {}), view_(view) {}
  bool has_3d_view() const override { return true; }
  void draw(int env, const float* action, Drawing& out) const override {
    if (view_ == ViewKind::kDrawn) return capability<Drawable>(inner())->draw(env, action, out);
    out.view(0.0, 0.0, 1.0, 1.0);
    out.image({0.0, 0.0}, 1.0, 1.0, "data:image/webp;base64,");
  }

 private:
  ViewKind view_;
};

void register_viewed(const std::string& id, bool renders) {
  EnvSpec spec = env_spec("CartPole-v1", {}).take();
  spec.id = id;
  const auto make = [=](const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
    if (options.view == ViewKind::k3d && !renders)
      return Status(ErrorKind::kNotFound, "no OpenGL on this machine");
    Result<std::unique_ptr<VecEnv>> inner = make_vec_env("CartPole-v1", {}, options);
    if (!inner.ok()) return inner;
    return std::unique_ptr<VecEnv>(std::make_unique<Viewed>(inner.take(), id, options.view));
  };
  ASSERT_TRUE(register_environment(simulator_entry(spec, make)).ok());
}

TEST(Watch, IsInThreeDimensionsWhereThatCanBeHad) {
  register_viewed("Rendered-v0", true);
  register_viewed("Unrendered-v0", false);
  const std::unique_ptr<Trainer> rendered = trainer_of({{"env_id", "Rendered-v0"}});
  const std::unique_ptr<Trainer> unrendered = trainer_of({{"env_id", "Unrendered-v0"}});
  const WatchedEpisodes shown = watched(*rendered, {}), flat = watched(*unrendered, {});
  EXPECT_EQ(shown.view, ViewKind::k3d);
  EXPECT_EQ(shown.why_drawn, "");
  EXPECT_EQ(shown.film.pictures_every(), 1);
  EXPECT_EQ(watch_json(shown, "a", {})["pictures_every"].integer<int>(), 1);
  EXPECT_EQ(flat.view, ViewKind::kDrawn);
  EXPECT_EQ(flat.why_drawn, "no OpenGL on this machine");
  EXPECT_EQ(flat.film.pictures_every(), 0);
  EXPECT_EQ(shown.episodes[0].episode_return, flat.episodes[0].episode_return);
  const WatchedEpisodes drawn = watched(*rendered, {.view = WatchView::kDrawn});
  EXPECT_EQ(drawn.view, ViewKind::kDrawn);
  EXPECT_EQ(drawn.film.pictures_every(), 0);
  EXPECT_EQ(watched(*rendered, {.view = WatchView::k3d}).film.pictures_every(), 1);
  const Status asked = watch_policy(unrendered->policy(), {.view = WatchView::k3d}).status();
  EXPECT_EQ(asked.kind(), ErrorKind::kNotFound);
  EXPECT_EQ(asked.message(), "no OpenGL on this machine");
}

TEST(Watch, ViewsHaveNames) {
  EXPECT_EQ(watch_view_of("auto").value(), WatchView::kAuto);
  EXPECT_EQ(watch_view_of("3d").value(), WatchView::k3d);
  EXPECT_EQ(watch_view_of("drawn").value(), WatchView::kDrawn);
  EXPECT_EQ(watch_view_of("side").status().kind(), ErrorKind::kInvalidConfig);
}

TEST(WatchJson, HoldsWhatWasSeen) {
  const std::unique_ptr<Trainer> trainer = trainer_of({{"env_id", "CartPole-v1"}});
  const WatchedEpisodes seen = watched(*trainer, {.episodes = 2});
  const Json json = watch_json(seen, "runs/a", {"watch", "runs/a"});
  EXPECT_EQ(json["kind"], "watch");
  ASSERT_EQ(json["episodes"].size(), 2u);
  const Json& episode = json["episodes"].at(0);
  const std::size_t steps = static_cast<std::size_t>(seen.episodes[0].length);
  EXPECT_EQ(episode["frames"].size(), steps + 1);
  EXPECT_EQ(episode["actions"].size(), steps);
  EXPECT_EQ(episode["end"], "pole_fell");
  EXPECT_EQ(episode["success"], false);
  EXPECT_EQ(episode["return"].real(), static_cast<double>(steps));
  // What all frames begin with, the track and its limits, stands once; with the rest it is a frame.
  EXPECT_EQ(episode["backdrop"].size(), 3u);
  const std::vector<int>& frame = seen.film.episodes()[0].frames[1];
  ASSERT_EQ(episode["frames"].at(1).size(), frame.size() - 3);
  EXPECT_EQ(episode["frames"].at(1).at(0).integer<int>(), frame[3]);
  const Json& track = json["shapes"].at(0);
  EXPECT_EQ(track.at(0), "line");
  EXPECT_EQ(track.at(1), "muted");
  EXPECT_EQ(track.size(), 3u + 5u);
  const Result<std::string> page = watch_page(json.dump());
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(watch_page("{}").status().kind(), ErrorKind::kMismatch);
  EXPECT_EQ(watch_page("no").status().kind(), ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace broadloom
