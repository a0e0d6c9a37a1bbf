// The JSON, page and words of watched episodes.
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
#include "tests/evaluate/watched.h"

namespace broadloom {
namespace {

// The last frame shows the end of the episode, not the beginning of the next one.
TEST(Watch, TheLastFrameIsTheLastState) {
  const std::unique_ptr<Trainer> trainer = untrained({{"env_id", "FrozenLake-v1"}});
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

// Environments without their own drawing show their small image: bat and ball, and in the last
// frame the missed ball beside the bat in the lowest row.
TEST(Watch, ImagesAreDrawnToTheLast) {
  register_observation_envs();
  const std::unique_ptr<Trainer> trainer = untrained({{"env_id", "Catch-v0"}});
  const WatchedEpisodes seen = watched(*trainer, {.episodes = 5});
  EXPECT_EQ(seen.film.planes(), 1);
  int missed = 0;
  for (std::size_t i = 0; i < seen.episodes.size(); ++i) {
    if (end_words(seen.episodes[i], seen.spec) != "terminated") continue;
    std::vector<double> rows;
    const std::vector<Shape> last = drawn_frames(seen, i).back();
    for (const Shape& shape : last) {
      if (shape.ink == Ink::kInk) rows.push_back(shape.numbers[1]);
    }
    EXPECT_EQ(rows, (std::vector<double>{0.0, 0.0}));
    ++missed;
  }
  EXPECT_GT(missed, 0);
}

TEST(Watch, LongEpisodesAreCutAndMarked) {
  const std::unique_ptr<Trainer> trainer = untrained({{"env_id", "Pendulum-v1"}});
  const WatchedEpisodes whole = watched(*trainer, {}), cut = watched(*trainer, {.max_steps = 5});
  EXPECT_EQ(end_words(whole.episodes[0], whole.spec), "time_limit");
  EXPECT_EQ(end_words(cut.episodes[0], cut.spec), "cut");
  const FilmedEpisode &all = whole.film.episodes()[0], &part = cut.film.episodes()[0];
  ASSERT_EQ(part.frames.size(), 6u);
  EXPECT_EQ(part.rewards, std::vector<double>(all.rewards.begin(), all.rewards.begin() + 5));
  EXPECT_EQ(part.actions, std::vector<float>(all.actions.begin(), all.actions.begin() + 5));
  // The last state of the cut episode is that of the whole one at the same step.
  const auto pole = [](const WatchedEpisodes& episodes, std::size_t frame) {
    const std::vector<int>& shapes = episodes.film.episodes()[0].frames[frame];
    return episodes.film.shapes()[static_cast<std::size_t>(shapes[1])].numbers;
  };
  EXPECT_EQ(pole(cut, 5), pole(whole, 5));
  EXPECT_NE(pole(cut, 5), pole(cut, 4));
}

// A simulator with a view in three dimensions, which this machine can or cannot render.
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

TEST(Watch, UsesThreeDimensionsIfPossible) {
  register_viewed("Rendered-v0", true);
  register_viewed("Unrendered-v0", false);
  const std::unique_ptr<Trainer> rendered = untrained({{"env_id", "Rendered-v0"}});
  const std::unique_ptr<Trainer> unrendered = untrained({{"env_id", "Unrendered-v0"}});
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

TEST(WatchJson, HoldsTheEpisodes) {
  const std::unique_ptr<Trainer> trainer = untrained({{"env_id", "CartPole-v1"}});
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
  // The backdrop that all frames share is stored once: the track and its limits.
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
