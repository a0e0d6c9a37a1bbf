// A few episodes of a policy, kept as they are played: what `broadloom watch` calls.
#pragma once

#include <cstdint>
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
  kAuto,   // in three dimensions where the environment has such a view and this machine renders it
  kDrawn,  // as the environment draws itself, or its small images
  k3d
};
// "auto", "drawn" or "3d"; kInvalidConfig for other words.
Result<WatchView> watch_view_of(std::string_view name);
const char* view_name(ViewKind view);  // "drawn", "3d"

struct WatchOptions {
  int episodes = 1;  // to kMostWatchedEpisodes
  std::uint64_t seed = 1;
  EvalActions actions = EvalActions::kMostLikely;
  int max_steps = 1000;  // where longer episodes are cut; to kLongestEvalEpisode
  WatchView view = WatchView::kAuto;
};

struct WatchedEpisodes {
  WatchOptions options;
  EnvSpec spec;         // of what was played
  PolicyOrigin origin;  // of who played
  Film film;
  std::vector<EvalEpisode> episodes;  // what they came to
  ViewKind view = ViewKind::kDrawn;   // that the film has
  std::string why_drawn;  // why it has not the one in three dimensions that there is; or empty
};

// The first episodes that an evaluation with this seed and as many episodes plays, the same to the
// bit as far as they are played. kInvalidConfig for options out of their ranges, and where the
// environment neither draws itself nor observes small images, or where a view in three dimensions
// is asked for and it has none; kNotFound where this machine cannot render that; other errors as
// play_episodes().
// Costs as much memory as the page will, a few times.
Result<WatchedEpisodes> watch_policy(const Policy& policy, const WatchOptions& options);

// run_or_checkpoint: as run_evaluation.h has it. Writes nothing.
Result<WatchedEpisodes> watch_run(const std::string& run_or_checkpoint,
                                  const WatchOptions& options);

}  // namespace broadloom
