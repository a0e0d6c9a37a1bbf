// Plays and records a few episodes of a policy, as `broadloom watch` does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/film.h"
#include "broadloom/evaluate/policy.h"

namespace broadloom {

inline constexpr int kMostWatchedEpisodes = 20;

enum class WatchView {
  kAuto,   // in three dimensions if the environment and this machine can
  kDrawn,  // the environment's drawing, or its small images
  k3d
};
// "auto", "drawn" or "3d"; kInvalidConfig for other words.
Result<WatchView> watch_view_of(std::string_view name);
const char* view_name(ViewKind view);  // "drawn", "3d"

struct WatchOptions {
  int episodes = 1;  // at most kMostWatchedEpisodes
  std::uint64_t seed = 1;
  std::optional<EvalActions> actions = {};  // none: as `eval_actions` of the run's config
  int max_steps = 1000;                     // longer episodes are cut; at most kLongestEvalEpisode
  WatchView view = WatchView::kAuto;
  // Called before each state is drawn: the episode, from 0, and the states that it has by then.
  std::function<void(ViewKind view, int episode, int states)> on_state = {};
  std::function<bool()> should_stop = {};  // as in EvalOptions; the film then ends there
};

struct WatchedEpisodes {
  WatchOptions options;
  EnvSpec spec;         // of the environment
  PolicyOrigin origin;  // of the policy
  Film film;
  std::vector<EvalEpisode> episodes;               // their results
  EvalActions actions = EvalActions::kMostLikely;  // that were played
  ViewKind view = ViewKind::kDrawn;                // of the film
  std::string why_drawn;                           // why a possible 3D view was not used; or empty
  std::string note;                                // LoadedPolicy::note()
};

// Plays the first episodes of an evaluation with this seed and number of episodes, with the same
// bits. kInvalidConfig for options out of range, for an environment without drawings or small
// images, or for 3D where it has no such view; kNotFound if this machine cannot render it. Other
// errors: those of play_episodes(). Needs a few times the page's size in memory.
Result<WatchedEpisodes> watch_policy(const Policy& policy, const WatchOptions& options);

// run_or_checkpoint: as in run_evaluation.h. Writes nothing.
Result<WatchedEpisodes> watch_run(const std::string& run_or_checkpoint,
                                  const WatchOptions& options);

}  // namespace broadloom
