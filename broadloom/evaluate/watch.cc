#include "broadloom/evaluate/watch.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "broadloom/env/drawable.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/tasks/asked_frames.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/planes.h"
#include "broadloom/evaluate/run_path.h"

namespace broadloom {
namespace {

Status check(const WatchOptions& options) {
  if (options.episodes < 1 || options.episodes > kMostWatchedEpisodes) {
    return invalid(fmt::format("episodes: got {}, expected 1 to {}, as a page can hold them",
                               options.episodes, kMostWatchedEpisodes));
  }
  if (options.max_steps < 1 || options.max_steps > kLongestEvalEpisode) {
    return invalid(
        fmt::format("max_steps: got {}, expected 1 to {}", options.max_steps, kLongestEvalEpisode));
  }
  return {};
}

struct ChosenView {
  ViewKind kind = ViewKind::kDrawn;
  std::string why_drawn;
};

Result<std::unique_ptr<VecEnv>> make_one(const Config& config, std::uint64_t seed, ViewKind view) {
  VecEnvOptions options;
  options.num_envs = 1;
  options.seed = seed;
  options.streams = StreamSet::kEvaluation;
  options.view = view;
  return make_vec_env(config.env_id, config.env_options, options);
}

Status check_drawable(const VecEnv& envs, const EnvSpec& spec) {
  if (is_small_image(spec.observation) || small_image_group(spec.observation)) return {};
  Drawing drawing;
  const auto* const drawable = capability<Drawable>(envs);
  if (drawable != nullptr) {
    BROADLOOM_TRY(with_simulator_errors(
        [&] { name_exceptions(spec.id, "draw", [&] { drawable->draw(0, nullptr, drawing); }); }));
  }
  if (!drawing.empty()) return {};
  const bool is_whole = envs.traits().whole_batch && !spec.id.starts_with("plugin:");
  const char* const advice =
      is_whole
          ? "in C++, implement Drawable::draw(); in Python, `broadloom.watch(run, \"film.gif\")` "
            "films the render() of Python's environments"
          : "add `static void draw(const Params&, const State&, const float* action, Drawing&)` to "
            "its header, as docs/own_environment.md shows, or implement Drawable::draw() in a "
            "simulator";
  return invalid(fmt::format(
      "{} does not draw itself, and its observations, {}, are not a small image (uint8, rows x "
      "columns x planes, at most {} numbers); {}",
      spec.id, shape_text(spec.observation), kMostImageNumbers, advice));
}

// Checked before playing, which may take long.
Result<ChosenView> choose_view(const Config& config, const EnvSpec& spec,
                               const WatchOptions& options) {
  const bool may_be_3d = options.view != WatchView::kDrawn;
  Result<std::unique_ptr<VecEnv>> one =
      make_one(config, options.seed, may_be_3d ? ViewKind::k3d : ViewKind::kDrawn);
  ChosenView chosen;
  if (!one.ok() && options.view == WatchView::kAuto &&
      one.status().kind() == ErrorKind::kNotFound) {
    chosen.why_drawn = one.status().message();
    one = make_one(config, options.seed, ViewKind::kDrawn);
  }
  if (!one.ok()) return one.status();
  const VecEnv& envs = *one.value();
  const auto* const drawable = capability<Drawable>(envs);
  const bool has_3d_view = drawable != nullptr && drawable->has_3d_view();
  if (options.view == WatchView::k3d && !has_3d_view) {
    return invalid(
        fmt::format("view: got 3d, but {} has no view in three dimensions, expected auto or drawn; "
                    "environments on MuJoCo have one (docs/envs/MuJoCo.md)",
                    spec.id));
  }
  const bool is_3d = may_be_3d && has_3d_view && chosen.why_drawn.empty();
  chosen.kind = is_3d ? ViewKind::k3d : ViewKind::kDrawn;
  if (!is_3d) BROADLOOM_TRY(check_drawable(envs, spec));
  return chosen;
}

// Passes on all that it sees to a film, and says how far it is.
class ToldFilm final : public EpisodeWatcher {
 public:
  ToldFilm(Film& film, ViewKind view, const WatchOptions& options)
      : film_(film),
        view_(view),
        on_state_(options.on_state),
        states_(static_cast<std::size_t>(options.episodes), 0) {}

  void see(const SeenState& state) override {
    int& states = states_[static_cast<std::size_t>(state.episode)];
    if (on_state_) on_state_(view_, state.episode, states);
    ++states;
    film_.see(state);
  }
  void take(int episode, double reward) override { film_.take(episode, reward); }

 private:
  Film& film_;
  ViewKind view_;
  const decltype(WatchOptions::on_state)& on_state_;
  std::vector<int> states_;
};

}  // namespace

Result<WatchView> watch_view_of(std::string_view name) {
  if (name == "auto") return WatchView::kAuto;
  if (name == view_name(ViewKind::kDrawn)) return WatchView::kDrawn;
  if (name == view_name(ViewKind::k3d)) return WatchView::k3d;
  return invalid(fmt::format(
      "view: got '{}', expected auto, drawn or 3d (by the simulator's renderer, if it has one)",
      name));
}

const char* view_name(ViewKind view) { return view == ViewKind::k3d ? "3d" : "drawn"; }

Result<WatchedEpisodes> watch_policy(const Policy& policy, const WatchOptions& options) {
  BROADLOOM_TRY(check(options));
  const Config& config = policy.config;
  const Result<EnvSpec> spec =
      env_spec(config.env_id, config.env_options, config.max_episode_steps);
  if (!spec.ok()) return spec.status();
  const Result<ChosenView> view = choose_view(config, spec.value(), options);
  if (!view.ok()) return view.status();
  Film film(spec.value(), options.episodes,
            group_frames(config.env_id, config.env_options, spec.value()));
  WatchedEpisodes watched{options,
                          spec.value(),
                          policy.origin,
                          std::move(film),
                          {},
                          played_actions(policy, {.actions = options.actions}),
                          view.value().kind,
                          view.value().why_drawn,
                          {}};
  ToldFilm announced(watched.film, watched.view, options);
  Result<std::vector<EvalEpisode>> played =
      play_episodes(policy, {.episodes = options.episodes,
                             .seed = options.seed,
                             .threads = 1,  // Film is not thread-safe
                             .actions = watched.actions,
                             .should_stop = options.should_stop,
                             .longest_episode = options.max_steps,
                             .watcher = &announced,
                             .view = watched.view});
  if (!played.ok()) return played.status();
  watched.episodes = played.take();
  return watched;
}

Result<WatchedEpisodes> watch_run(const std::string& run_or_checkpoint,
                                  const WatchOptions& options) {
  BROADLOOM_TRY(check(options));
  const Result<FoundCheckpoint> found = find_policy(run_or_checkpoint);
  if (!found.ok()) return found.status();
  const Result<std::unique_ptr<LoadedPolicy>> policy = LoadedPolicy::load(found.value());
  if (!policy.ok()) return policy.status();
  Result<WatchedEpisodes> watched = watch_policy(policy.value()->view(), options);
  if (watched.ok()) watched.value().note = policy.value()->note();
  return watched;
}

}  // namespace broadloom
