// Evaluation of a policy: frozen statistics, streams that training never uses, and the most likely
// actions unless sampled ones are asked for.
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

enum class EvalActions {
  kMostLikely,  // or the best, as the algorithm's actor says; of a Gaussian: its mean
  kSampled      // drawn as in training, on streams of their own
};

// "most_likely", "sampled"; and back, kInvalidConfig for other words.
const char* actions_name(EvalActions actions);
Result<EvalActions> actions_of(std::string_view name);

// Told how many of the episodes are over, none at first; from several threads, one at a time.
using PlayProgress = std::function<void(std::int64_t played, std::int64_t episodes)>;

// A state of an episode that is played.
struct SeenState {
  int episode = 0;
  const Drawing& drawing;       // as the environment draws itself; empty: it cannot
  ObservationRows observation;  // as the environment gives it, a row
  const float* action;  // [A] as the policy takes it there; null: the episode is over, or cut
};

// Looks on while episodes are played. Of each episode: state, reward, state, ..., reward, state,
// from one thread; of different ones side by side.
class EpisodeWatcher {
 public:
  virtual ~EpisodeWatcher() = default;
  virtual void see(const SeenState& state) = 0;
  virtual void take(int episode, double reward) = 0;
};

struct EvalOptions {
  int episodes = 100;
  std::uint64_t seed = 1;
  int threads = 1;
  StreamSet streams = StreamSet::kEvaluation;  // not training's
  EvalActions actions = EvalActions::kMostLikely;
  PlayProgress on_progress = {};  // may be empty
  int longest_episode = kLongestEvalEpisode;
  EpisodeWatcher* watcher = nullptr;  // null: nobody looks
  ViewKind view = ViewKind::kDrawn;   // that the watcher is shown
};

struct EvalResult {
  std::int64_t global_step = 0;  // of the policy that was evaluated
  int episodes = 0;
  double mean_return = 0.0;
  // 95 % interval of the mean, Student's t (mean_of in stats/estimate.h); not numbers for one
  // episode, which has none.
  double ci_low = 0.0, ci_high = 0.0;
  double std_return = 0.0;  // sample standard deviation over episodes; 0 for one
  double mean_length = 0.0;
  // Of the episodes that succeeded, as the environment names it; not numbers where it names no
  // success. An episode without an end has not succeeded.
  Estimate success_rate;
  // Of those that the environment ended, not the time limit, without success; known as success is.
  Estimate failure_rate;
  // How often episodes ended for which reason: every one of EnvSpec::end_reasons, then
  // "unfinished".
  struct Reason {
    std::string name;
    int count = 0;
  };
  std::vector<Reason> reasons;
  // Of EnvSpec::measures: means over episodes of an episode's mean step, with Student's t as above.
  struct Measured {
    Measure measure;
    Estimate mean;
  };
  std::vector<Measured> measures;
  // Mean of the policy's last 100 episodes of training; not a number where it is not known.
  double training_return = std::numeric_limits<double>::quiet_NaN();
};

// One episode that was played.
struct EvalEpisode {
  double episode_return = 0.0;
  int length = 0;
  EpisodeEnd end;                // end.reason -1: cut without an end
  std::vector<double> measures;  // of EnvSpec::measures, means over its steps
};

// Plays `episodes` episodes, one environment each and each to its end, so that short episodes count
// no more than long ones. Actions are clipped to their bounds. Evaluation streams are disjoint from
// training's by construction (env/streams.h). An episode without an end is cut after 10,000 steps.
// Changes nothing of the training run.
Result<EvalResult> evaluate_policy(const Policy& policy, const EvalOptions& options);

// Environments to be played in, one episode each.
struct EvalScene {
  std::string env_id;
  Overrides env_options;
  VecEnvOptions envs;
  EvalActions actions = EvalActions::kMostLikely;  // sampled ones on the seed of envs
  int longest_episode = kLongestEvalEpisode;       // where those without an end are cut
  EpisodeWatcher* watcher = nullptr;               // null: nobody looks
};

// The same for many scenes of one policy at once, whose spaces must be the network's; threads share
// all of them. Episode i of a scene is that of its environment i. Errors as make_vec_env.
Result<std::vector<std::vector<EvalEpisode>>> play_scenes(const std::vector<EvalScene>& scenes,
                                                          const Policy& policy, int threads,
                                                          const PlayProgress& on_progress = {});

// One scene, that of the policy's own run: that of environment i is the i-th.
Result<std::vector<EvalEpisode>> play_episodes(const Policy& policy, const EvalOptions& options);

// What the episodes, at least one of them, of an environment come to.
EvalResult summarise(const std::vector<EvalEpisode>& episodes, const EnvSpec& spec);

}  // namespace broadloom
