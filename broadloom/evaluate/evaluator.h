// Plays episodes with a policy and measures how good it is. Statistics are frozen, random streams
// differ from training's, and actions are the most likely ones unless sampled ones are asked for.
//
//   Result<EvalResult> result = evaluate_policy(trainer.policy(), {.episodes = 50, .threads = 8});
//   if (!result.ok()) return result.status();
//   std::printf("%.1f\n", result.value().mean_return);
//
// Results depend on policy, seed and episodes, not on threads. Cost: one environment per episode,
// all in parallel, and one forward pass per step.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/estimate.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/evaluate/policy.h"

namespace broadloom {

// Default number of steps after which an endless episode is cut.
inline constexpr int kLongestEvalEpisode = 10000;
// Largest number of steps that may be asked for.
inline constexpr int kMostEvalSteps = 100000000;

// How a policy chooses its action.
enum class EvalActions {
  kMostLikely,  // or the best, as the algorithm's actor decides; the mean of a Gaussian
  kSampled      // as in training, from separate streams
};

// "most_likely" or "sampled", as in the key `eval_actions`.
const char* actions_name(EvalActions actions);
// "most likely actions", "sampled actions" or "most likely or sampled actions", for such names.
std::string actions_words(const std::set<std::string>& names);
// Reads such a name; "" leaves `actions` as it is. kInvalidConfig for other text.
Status read_actions(std::string_view name, std::optional<EvalActions>& actions);

// Called with the number of ended episodes, at first 0; from several threads, one at a time.
using PlayProgress = std::function<void(std::int64_t played, std::int64_t episodes)>;

// A state in an episode.
struct SeenState {
  int episode = 0;              // from 0
  const Drawing& drawing;       // the environment's drawing; empty if it cannot draw
  ObservationRows observation;  // one row, as the environment gives it
  const float* action;          // [A] chosen there; null: the episode has ended or was cut
};

// Watches episodes. For each episode the calls are state, reward, state, ..., reward, state from
// one thread; calls for different episodes may be concurrent.
class EpisodeWatcher {
 public:
  virtual ~EpisodeWatcher() = default;
  // A state before its action, or the last one of an episode.
  virtual void see(const SeenState& state) = 0;
  // The reward of the step from the last state.
  virtual void take(int episode, double reward) = 0;
};

// Options of an evaluation; the defaults usually suffice.
struct EvalOptions {
  int episodes = 100;                          // at least 1
  std::uint64_t seed = 1;                      // of environments and sampled actions
  int threads = 1;                             // results do not depend on them
  StreamSet streams = StreamSet::kEvaluation;  // separate from training's
  std::optional<EvalActions> actions = {};     // none: as `eval_actions` of the run's config
  PlayProgress on_progress = {};               // may be empty
  // May be empty. Asked before each step, by any thread; true ends the evaluation.
  std::function<bool()> should_stop = {};
  int longest_episode = kLongestEvalEpisode;  // steps after which an episode is cut
  EpisodeWatcher* watcher = nullptr;          // null: none
  ViewKind view = ViewKind::kDrawn;           // for the watcher's drawings
};

// Means over episodes, undiscounted.
struct EvalResult {
  std::int64_t global_step = 0;  // of the policy
  int episodes = 0;              // played to their ends
  int asked = 0;                 // more, if should_stop ended the evaluation
  double mean_return = 0.0;      // of the sum of an episode's rewards
  // 95 % interval of the mean, Student's t (core/estimate.h); NaN for one episode.
  double ci_low = 0.0, ci_high = 0.0;
  double std_return = 0.0;   // sample standard deviation over episodes; 0 for one
  double mean_length = 0.0;  // steps
  // Rate of successful episodes; NaN if the environment defines no success. A cut episode is not a
  // success.
  Estimate success_rate;
  // Rate of episodes that the environment ended without success (the time limit does not count).
  Estimate failure_rate;
  // Counts of each of EnvSpec::end_reasons, then of "unfinished".
  struct Reason {
    std::string name;  // of EnvSpec::end_reasons
    int count = 0;     // episodes
  };
  std::vector<Reason> reasons;  // in the spec's order
  // Means of EnvSpec::measures over episodes, with Student's t; an episode counts with its mean
  // step.
  struct Measured {
    Measure measure;  // name and unit
    Estimate mean;    // with its interval
  };
  std::vector<Measured> measures;  // in the spec's order
  // Mean return as last reported by training; NaN if unknown.
  double training_return = std::numeric_limits<double>::quiet_NaN();
  std::string note = {};    // LoadedPolicy::note(), of evaluate_run()
  std::string engine = {};  // EnvSpec::engine; "": Broadloom, or the task's own model
  EvalActions actions = EvalActions::kMostLikely;  // that were played
};

// The result of one episode.
struct EvalEpisode {
  double episode_return = 0.0;   // sum of its rewards
  int length = 0;                // steps
  EpisodeEnd end;                // end.reason -1: cut
  std::vector<double> measures;  // of EnvSpec::measures, means over steps
  bool stopped = false;          // by should_stop, before its end
};

// The actions of an evaluation with these options.
EvalActions played_actions(const Policy& policy, const EvalOptions& options);

// Plays `episodes` episodes to their ends, one in each environment, so that short episodes do not
// count more. Clips actions to their bounds. Evaluation streams are disjoint from training's
// (env/streams.h). Endless episodes are cut after longest_episode steps. Does not change the run.
// If should_stop ends it, the result is that of the episodes that had ended, which favours short
// ones; without any, its means are NaN.
// kNumeric names episode and step if an observation, policy output or reward is not finite.
Result<EvalResult> evaluate_policy(const Policy& policy, const EvalOptions& options);

// Environments with one episode each.
struct EvalScene {
  std::string env_id;                              // registered
  Overrides env_options;                           // as for make_vec_env()
  VecEnvOptions envs;                              // number, seed, streams and more
  EvalActions actions = EvalActions::kMostLikely;  // sampled ones use the seed of envs
  int longest_episode = kLongestEvalEpisode;       // steps after which endless episodes are cut
  EpisodeWatcher* watcher = nullptr;               // null: none
  std::string name = {};                           // in errors; "": the only scene
};

// Plays many scenes of one policy at once; threads share all of them. The scenes' spaces must fit
// the network. Episode i of a scene is that of its environment i. should_stop: as in EvalOptions.
// Errors: those of make_vec_env, and kNumeric as for evaluate_policy.
Result<std::vector<std::vector<EvalEpisode>>> play_scenes(
    const std::vector<EvalScene>& scenes, const Policy& policy, int threads,
    const PlayProgress& on_progress = {}, const std::function<bool()>& should_stop = {});

// Plays one scene, that of the policy's own run; episode i is that of environment i.
Result<std::vector<EvalEpisode>> play_episodes(const Policy& policy, const EvalOptions& options);

// The statistics of at least one episode.
EvalResult summarise(const std::vector<EvalEpisode>& episodes, const EnvSpec& spec);

}  // namespace broadloom
