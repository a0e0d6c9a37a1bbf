#include "broadloom/watch/watch.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "broadloom/envs/registry.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/watch/planes.h"

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

// Said before anything is played, which may take its time.
Status check_that_it_can_be_drawn(const Config& config, const EnvSpec& spec, std::uint64_t seed) {
  if (is_small_image(spec.observation)) return {};
  VecEnvOptions options;
  options.num_envs = 1;
  options.seed = seed;
  options.streams = StreamSet::kEvaluation;
  const Result<std::unique_ptr<VecEnv>> one =
      make_vec_env(config.env_id, config.env_options, options);
  if (!one.ok()) return one.status();
  Drawing drawing;
  one.value()->draw(0, nullptr, drawing);
  if (!drawing.empty()) return {};
  return invalid(fmt::format(
      "{} does not draw itself, and its observations, {}, are no small image (uint8, rows x "
      "columns x planes, at most {} numbers); add `static void draw(const Params&, const State&, "
      "const float* action, Drawing&)` to its header, as docs/own_environment.md shows, or "
      "override VecEnv::draw() in a simulator",
      spec.id, shape_text(spec.observation), kMostImageNumbers));
}

}  // namespace

Result<WatchedEpisodes> watch_policy(const Policy& policy, const WatchOptions& options) {
  BROADLOOM_TRY(check(options));
  const Config& config = policy.config;
  const Result<EnvSpec> spec =
      env_spec(config.env_id, config.env_options, config.max_episode_steps);
  if (!spec.ok()) return spec.status();
  BROADLOOM_TRY(check_that_it_can_be_drawn(config, spec.value(), options.seed));
  WatchedEpisodes watched{
      options, spec.value(), policy.origin, Film(spec.value(), options.episodes), {}};
  Result<std::vector<EvalEpisode>> played =
      play_episodes(policy, {.episodes = options.episodes,
                             .seed = options.seed,
                             .threads = 1,  // as Film wants it
                             .actions = options.actions,
                             .longest_episode = options.max_steps,
                             .watcher = &watched.film});
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
  return watch_policy(policy.value()->view(), options);
}

}  // namespace broadloom
