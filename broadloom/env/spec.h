// The description of an environment: spaces, time limit, scores, origin of its dynamics.
//
//   EnvSpec spec;
//   spec.id = "Hover-v0";
//   spec.observation = Space::box({-10.0f, -5.0f}, {10.0f, 5.0f});  // [2] float32, with bounds
//   spec.action = Space::discrete(3);                               // 0, 1 or 2
//   spec.max_episode_steps = 200;
//   spec.summary = "Hold a drone one metre above the ground.";
//
// Spaces are Discrete or a Box; there are no dictionaries, tuples or action masks: lay numbers side
// by side in one Box. All else is optional.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/frames.h"

namespace broadloom {

// One of n choices, or an array of numbers.
enum class SpaceKind { kDiscrete, kBox };

// Discrete(n): values 0..n-1. Box: `size` numbers with bounds (infinities allowed), float32 or, as
// pixels are, uint8. A network sees uint8 numbers divided by full_scale(): from 0 to 1.
struct Space {
  SpaceKind kind = SpaceKind::kBox;  // which of the members below count
  int size = 0;                      // n of a Discrete, how many numbers a Box has
  // Of a Discrete: what its simulator calls 0, where it counts from another number. The library
  // counts from 0; who hands a policy out to the simulator's users adds it.
  std::int64_t start = 0;
  std::vector<float> low{};   // [size] of a Box
  std::vector<float> high{};  // [size] of a Box
  Dtype dtype = Dtype::kF32;  // kF32 or kU8; actions and Discrete spaces are kF32
  std::vector<int> shape{};   // row-major, of `size` numbers in all, {84, 84, 4}; empty: {size}
  // Of uint8 images: k > 1 says that one is the last k frames of an episode (env/frames.h), each
  // the newest of the step's own observation, so that a block may store each frame once.
  int frames = 1;
  // Fill for the frames before an episode's first one.
  FramePadding frame_padding = FramePadding::kFirst;

  // n choices, from 0 on.
  static Space discrete(int n) { return {.kind = SpaceKind::kDiscrete, .size = n}; }
  // As many float32 numbers as there are bounds; low and high: [size], infinities allowed.
  static Space box(std::vector<float> low, std::vector<float> high) {
    const int size = static_cast<int>(low.size());
    return {.kind = SpaceKind::kBox, .size = size, .low = std::move(low), .high = std::move(high)};
  }
  // uint8 from 0 to 255, as of an image, or to another highest number of at most 255.
  static Space bytes(std::vector<int> shape, int highest = 255) {
    int size = 1;
    for (const int extent : shape) size *= extent;
    const std::size_t count = static_cast<std::size_t>(size > 0 ? size : 0);
    std::vector<float> low(count, 0.0f), high(count, static_cast<float>(highest));
    return {.kind = SpaceKind::kBox,
            .size = size,
            .low = std::move(low),
            .high = std::move(high),
            .dtype = Dtype::kU8,
            .shape = std::move(shape)};
  }
  // uint8 that are 0 or 1, as of planes that say what is where: what a network sees, too.
  static Space bits(std::vector<int> shape) { return bytes(std::move(shape), 1); }

  // The shape, {size} where none was given.
  std::vector<int> extents() const { return shape.empty() ? std::vector<int>{size} : shape; }
  // How frames lie in an observation (env/frames.h).
  FrameLayout frame_layout() const {
    return frames > 1 ? FrameLayout{frames, extents().back() / frames, frame_padding}
                      : FrameLayout();
  }
  // What networks see uint8 numbers divided by: the largest of the upper bounds. 255 where none is
  // at least 1, and of float32, which is seen as it is.
  float full_scale() const {
    float largest = 0.0f;
    if (dtype == Dtype::kU8) {
      for (const float bound : high) largest = bound > largest ? bound : largest;
    }
    return largest >= 1.0f ? largest : 255.0f;
  }
};

// What a network knows of a space: "Discrete(3)", "Box(4)" or "Box(84, 84, 4; uint8)", where uint8
// numbers are not of 0 to 255, "Box(10, 10, 4; uint8 to 1)", and where an image is a stack,
// "Box(84, 84, 4; uint8, 4 frames)".
std::string shape_text(const Space& space);
// Whether a network that fits one fits the other.
bool same_shape(const Space& a, const Space& b);

// reward = sum of weight * term, the terms being the environment's own.
struct RewardTerm {
  std::string name;     // a word, as in "alive"
  double weight = 0.0;  // that the term is multiplied by
};

// What an environment measures in each of its steps, beside what it pays: how far off a command it
// is, say. Reports and evaluations show the mean over steps.
struct Measure {
  std::string name;  // a word, as in "speed_error"
  std::string unit;  // "m/s"; empty: none
};

// What a policy is asked to do in an episode, drawn from here: a speed to walk at, say.
struct CommandRange {
  std::string name;  // with its unit
  double low = 0.0, high = 0.0;
};

// A number that an environment is given and that differs between environments, beside the constants
// that strata draw: a command, a place on the ground. VecEnv::context() has its present value.
struct ContextRange {
  std::string name;              // with its unit
  double low = 0.0, high = 0.0;  // that the task draws it from; equal: always this number
};

// Worlds that are made from seeds and met again and again, such as ground or the levels of a game.
struct WorldSeeds {
  std::uint64_t first = 0, count = 0;  // seeds from first on; count 0: there are none, or not said

  // Whether some seed is of both.
  bool overlap(const WorldSeeds& other) const {
    if (count == 0 || other.count == 0) return false;
    return first <= other.first ? other.first - first < count : first - other.first < other.count;
  }
};

// Of environments that were loaded from a shared library (plugins/): what it calls itself, and its
// content. All empty for others.
struct EnvPlugin {
  std::string name, version;  // as broadloom_plugin.h has them
  std::string hash;           // of the file's bytes, core/hash.h

  bool operator==(const EnvPlugin&) const = default;
};

// D below is observation.size, A action_size().
struct EnvSpec {
  std::string id;     // "CartPole-v1"
  Space observation;  // Discrete observations reach the policy one-hot
  // What only the critic reads while a policy is trained, instead of `observation`: what the
  // simulator knows and the policy will not. A Box; of size 0 where there is none.
  Space critic_observation;
  Space action;                       // Discrete or a Box of float32
  int max_episode_steps = 0;          // time limit in steps; 0: none
  bool has_reward_threshold = false;  // whether the next one is meant
  double reward_threshold = 0.0;      // upstream's "solved" mark
  // The two scores that a study maps to 0 and 1, as mean returns of whole episodes;
  // docs/statistics.md has the source of each. They hold for the environment's default options and
  // its own time limit: the registry takes them away where others were given.
  bool has_score_range = false;
  double random_score = 0.0;     // of uniformly random actions
  double reference_score = 0.0;  // the optimum where it is known, else a good policy's
  std::string upstream;          // library, version and file that the dynamics agree with
  // What steps it, where that is another's library, with its version and what it was given: "MuJoCo
  // 4.0.0, hopper.xml 8f3c...". Empty: Broadloom. Records keep it.
  std::string engine;
  std::string summary;  // one line for `broadloom env list`
  // Why episodes end: the environment's own reasons, then "time_limit". See env/outcome.h.
  std::vector<std::string> end_reasons{"terminated", "time_limit"};
  bool names_success = false;  // whether the environment says which episodes succeeded
  // What a record should say of the task and only the environment knows; empty: not said.
  std::vector<RewardTerm> reward_terms;
  bool counts_reward_terms = false;  // VecEnv::take_step_sums() has what each pays
  std::vector<Measure> measures;     // likewise, whatever of it there is
  // Numbers of take_step_sums(): first what each term pays, where it is counted, then the measures.
  std::size_t counted() const { return paid_terms() + measures.size(); }
  // Reward terms among them.
  std::size_t paid_terms() const { return counts_reward_terms ? reward_terms.size() : 0; }
  std::vector<CommandRange> commands;  // empty: none
  std::string terrain;                 // in words; empty: not said
  std::vector<ContextRange> context;   // for the audit; empty: not said
  WorldSeeds world_seeds;              // for the audit
  EnvPlugin plugin;                    // that they are from
  std::vector<std::string> strata;  // that constants are drawn from, see env/strata.h; empty: none

  // The two scores above, as mean returns of whole episodes.
  void set_score_range(double random, double reference) {
    has_score_range = true;
    random_score = random;
    reference_score = reference;
  }

  // A time limit instead of the environment's own; 0 keeps that. Scores under another limit are of
  // another task, so the range goes.
  void set_time_limit(int steps) {
    if (steps <= 0 || steps == max_episode_steps) return;
    max_episode_steps = steps;
    has_score_range = false;
  }

  // D: numbers a policy sees per observation (one-hot width for Discrete).
  int observation_size() const { return observation.size; }
  // Whether the critic reads something of its own.
  bool has_critic_observation() const { return critic_observation.size > 0; }
  // Floats stored per action: 1 for Discrete (the index), A for Box.
  int action_size() const { return action.kind == SpaceKind::kDiscrete ? 1 : action.size; }
};

// What one step gives. The environment knows nothing of time limits, so nothing of truncation.
struct StepResult {
  double reward;            // finite
  std::uint8_t terminated;  // 0 or 1; GCC 12 makes no vector code from a bool here
};

}  // namespace broadloom
