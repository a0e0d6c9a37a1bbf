// Plays episodes with a policy, and says how good it is: frozen statistics, random streams that
// training never uses, and the most likely actions unless sampled ones are asked for.
//
//   Result<EvalResult> result = evaluate_policy(trainer.policy(), {.episodes = 50, .threads = 8});
//   if (!result.ok()) return result.status();
//   std::printf("%.1f\n", result.value().mean_return);
//
// Results depend on policy, seed and episodes, never on the number of threads. Cost: one
// environment and one forward pass for each step of each episode, all episodes side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/estimate.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/evaluate/policy.h"

namespace broadloom {

// Steps after which evaluation ends an episode that does not end by itself.
inline constexpr int kLongestEvalEpisode = 10000;
// The most that may be asked for instead.
inline constexpr int kMostEvalSteps = 100000000;

// Which action a policy takes where it has a choice.
enum class EvalActions {
  kMostLikely,  // or the best, as the algorithm's actor says; of a Gaussian: its mean
  kSampled      // drawn as in training, on streams of their own
};

// "most_likely", "sampled".
const char* actions_name(EvalActions actions);
// Back from such a name; kInvalidConfig for other words.
Result<EvalActions> actions_of(std::string_view name);

// Told how many of the episodes are over, none at first; from several threads, one at a time.
using PlayProgress = std::function<void(std::int64_t played, std::int64_t episodes)>;

// A state of an episode that is played.
struct SeenState {
  int episode = 0;              // its number, from 0
  const Drawing& drawing;       // as the environment draws itself; empty: it cannot
  ObservationRows observation;  // as the environment gives it, a row
  const float* action;  // [A] as the policy takes it there; null: the episode is over, or cut
};

// Looks on while episodes are played. Of each episode: state, reward, state, ..., reward, state,
// from one thread; of different ones side by side.
class EpisodeWatcher {
 public:
  virtual ~EpisodeWatcher() = default;
  // A state, before an action is taken in it; the last one of an episode, too.
  virtual void see(const SeenState& state) = 0;
  // The reward of the step from the state seen last.
  virtual void take(int episode, double reward) = 0;
};

// How to evaluate. The defaults do for most.
struct EvalOptions {
  int episodes = 100;                              // at least 1
  std::uint64_t seed = 1;                          // of environments, and of sampled actions
  int threads = 1;                                 // results do not depend on it
  StreamSet streams = StreamSet::kEvaluation;      // not training's
  EvalActions actions = EvalActions::kMostLikely;  // or sampled ones
  PlayProgress on_progress = {};                   // may be empty
  int longest_episode = kLongestEvalEpisode;       // steps after which an episode is cut
  EpisodeWatcher* watcher = nullptr;               // null: nobody looks
  ViewKind view = ViewKind::kDrawn;                // that the watcher is shown
};

// Means over episodes, undiscounted.
struct EvalResult {
  std::int64_t global_step = 0;  // of the policy that was evaluated
  int episodes = 0;              // that were played
  double mean_return = 0.0;      // sum of an episode's rewards, as the environment gives them
  // 95 % interval of the mean, Student's t (core/estimate.h); not numbers for one
  // episode, which has none.
  double ci_low = 0.0, ci_high = 0.0;
  double std_return = 0.0;   // sample standard deviation over episodes; 0 for one
  double mean_length = 0.0;  // steps
  // Of the episodes that succeeded, as the environment names it; not numbers where it names no
  // success. An episode without an end has not succeeded.
  Estimate success_rate;
  // Of those that the environment ended, not the time limit, without success; known as success is.
  Estimate failure_rate;
  // How often episodes ended for which reason: every one of EnvSpec::end_reasons, then
  // "unfinished".
  struct Reason {
    std::string name;  // of EnvSpec::end_reasons
    int count = 0;     // episodes
  };
  std::vector<Reason> reasons;  // in the spec's order
  // Of EnvSpec::measures: means over episodes of an episode's mean step, with Student's t as above.
  struct Measured {
    Measure measure;  // name and unit
    Estimate mean;    // with its interval
  };
  std::vector<Measured> measures;  // in the spec's order
  // Mean return as training reported it last; not a number where it is not known.
  double training_return = std::numeric_limits<double>::quiet_NaN();
};

// One episode that was played.
struct EvalEpisode {
  double episode_return = 0.0;   // sum of its rewards
  int length = 0;                // steps
  EpisodeEnd end;                // end.reason -1: cut without an end
  std::vector<double> measures;  // of EnvSpec::measures, means over its steps
};

// Plays `episodes` episodes, one environment each and each to its end, so that short episodes count
// no more than long ones. Actions are clipped to their bounds. Evaluation streams are disjoint from
// training's by construction (env/streams.h). An episode without an end is cut after
// longest_episode steps. Changes nothing of the training run. kNumeric, naming episode and step,
// where an observation, an output of the policy or a reward is not finite.
Result<EvalResult> evaluate_policy(const Policy& policy, const EvalOptions& options);

// Environments to be played in, one episode each.
struct EvalScene {
  std::string env_id;                              // a registered one
  Overrides env_options;                           // as make_vec_env() takes them
  VecEnvOptions envs;                              // number, seed and streams among them
  EvalActions actions = EvalActions::kMostLikely;  // sampled ones on the seed of envs
  int longest_episode = kLongestEvalEpisode;       // where those without an end are cut
  EpisodeWatcher* watcher = nullptr;               // null: nobody looks
  std::string name = {};  // which scene it is, for errors; "": the only one
};

// The same for many scenes of one policy at once, whose spaces must be the network's; threads share
// all of them. Episode i of a scene is that of its environment i. Errors as make_vec_env, and
// kNumeric as evaluate_policy.
Result<std::vector<std::vector<EvalEpisode>>> play_scenes(const std::vector<EvalScene>& scenes,
                                                          const Policy& policy, int threads,
                                                          const PlayProgress& on_progress = {});

// One scene, that of the policy's own run: that of environment i is the i-th.
Result<std::vector<EvalEpisode>> play_episodes(const Policy& policy, const EvalOptions& options);

// What the episodes, at least one of them, of an environment come to.
EvalResult summarise(const std::vector<EvalEpisode>& episodes, const EnvSpec& spec);

}  // namespace broadloom
