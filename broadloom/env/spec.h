// The description of an environment: spaces, time limit, scores and source of its dynamics.
//
//   EnvSpec spec;
//   spec.id = "Hover-v0";
//   spec.observation = Space::box({-10.0f, -5.0f}, {10.0f, 5.0f});  // [2] float32, with bounds
//   spec.action = Space::discrete(3);                               // 0, 1 or 2
//   spec.max_episode_steps = 200;
//   spec.summary = "Hold a drone one metre above the ground.";
//
// A space is Discrete or a Box; actions may also be MultiDiscrete, or hybrid: choices, then numbers
// of a Box. A dictionary of observations is a Box with named groups (Space::grouped). Everything
// else is optional.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/frames.h"
#include "broadloom/env/mirror.h"

namespace broadloom {

// One of n choices, an array of numbers, or for actions only several choices at once, or choices
// and numbers.
enum class SpaceKind { kDiscrete, kBox, kMultiDiscrete, kHybrid };

// A named part of a Box of float32: an image of whole numbers, a vector, or one of n choices.
struct ObservationGroup {
  std::string name;        // letters, digits, '-', '_' and '.'
  std::vector<int> shape;  // row-major; images: {height, width, channels}
  // kF32; kU8: whole numbers from 0 to 255, such as pixels; kI64: one of `size` choices, which the
  // Box has one-hot.
  Dtype dtype = Dtype::kF32;
  float full_scale = 1.0f;  // networks see the numbers divided by this; 1 unless kU8
  int first = 0, size = 0;  // its numbers in the Box
  std::int64_t start = 0;   // kI64: the simulator's own number of choice 0

  // Whether encoders of images may read it.
  bool is_image() const { return dtype == Dtype::kU8 && (shape.size() == 2 || shape.size() == 3); }
  bool operator==(const ObservationGroup&) const = default;
};

// Discrete(n) has values 0..n-1. A Box has `size` numbers with bounds (infinities allowed), float32
// or uint8, as for pixels. Networks see uint8 numbers divided by full_scale(), so from 0 to 1.
// MultiDiscrete is like a Box of whole numbers: number i has values 0..high[i]. In a hybrid space
// the first `leading_choices` numbers are such choices, and the others those of a Box.
struct Space {
  SpaceKind kind = SpaceKind::kBox;  // decides which members below apply
  int size = 0;                      // n of a Discrete space; else the number of values
  int leading_choices = 0;           // of a hybrid space; at least 1, less than size
  // For Discrete: the simulator's own number of choice 0. The library counts from 0. Code that
  // gives a policy to the simulator's users adds `start`.
  std::int64_t start = 0;
  std::vector<float> low{};   // [size], empty if Discrete
  std::vector<float> high{};  // [size], empty if Discrete
  // Bounds of the environment itself if actions are scaled from [-1, 1] (env/action_scale.h):
  // [size]; else empty. Code that gives a policy to the simulator's users scales its actions
  // likewise.
  std::vector<float> own_low{}, own_high{};
  Dtype dtype = Dtype::kF32;  // kF32 or kU8; actions and Discrete spaces are kF32
  std::vector<int> shape{};   // row-major, product `size`, such as {84, 84, 4}; empty: {size}
  // k > 1: an observation stacks the last k frames of an episode (env/frames.h). Each step adds one
  // frame, so a block can store each frame of bytes once.
  int frames = 1;
  // Fill for frames before an episode's first one.
  FramePadding frame_padding = FramePadding::kFirst;
  // For choices of an action: not all are valid in each state (env/action_masks.h).
  bool masked = false;
  // How a simulator of Python nests the numbers of an action, or gives an observation, as JSON
  // (python/broadloom/spaces.py). Empty: as they are. Exports to PyTorch read an observation's.
  std::string structure{};
  // Observations that are dictionaries: their groups, one after the other. The space is then a Box
  // of float32 with one dimension. Empty: the numbers are one group without a name.
  std::vector<ObservationGroup> groups{};

  // n choices, numbered from 0.
  static Space discrete(int n) { return {.kind = SpaceKind::kDiscrete, .size = n}; }
  // Several choices at once; number i has counts[i] choices, numbered from 0.
  static Space multi_discrete(const std::vector<int>& counts) {
    Space space{.kind = SpaceKind::kMultiDiscrete, .size = static_cast<int>(counts.size())};
    space.low.assign(counts.size(), 0.0f);
    for (const int count : counts) space.high.push_back(static_cast<float>(count - 1));
    return space;
  }
  // Choices and numbers: counts[i] choices each, then a Box with bounds low and high. An action is
  // one row, the choices first.
  static Space hybrid(const std::vector<int>& counts, const std::vector<float>& low,
                      const std::vector<float>& high) {
    Space space = multi_discrete(counts);
    space.kind = SpaceKind::kHybrid;
    space.leading_choices = space.size;
    space.size += static_cast<int>(low.size());
    space.low.insert(space.low.end(), low.begin(), low.end());
    space.high.insert(space.high.end(), high.begin(), high.end());
    return space;
  }
  // A float32 Box. low, high: [size], infinities allowed.
  static Space box(std::vector<float> low, std::vector<float> high) {
    const int size = static_cast<int>(low.size());
    return {.kind = SpaceKind::kBox, .size = size, .low = std::move(low), .high = std::move(high)};
  }
  // A uint8 Box with values 0 to `highest`, at most 255. Use it for images.
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
  // A uint8 Box with values 0 and 1, such as one plane per kind of object. Networks see 0 and 1,
  // too.
  static Space bits(std::vector<int> shape) { return bytes(std::move(shape), 1); }

  // A dictionary of Boxes and Discrete spaces, in this order. Rows hold floats: observe() writes
  // 255.0f for a white pixel, and choices one-hot. Only groups of float32 are normalised.
  static Space grouped(const std::vector<std::pair<std::string, Space>>& parts) {
    Space all = box({}, {});
    for (const auto& [name, part] : parts) {
      const bool bytes = part.dtype == Dtype::kU8, is_choice = part.kind == SpaceKind::kDiscrete;
      all.groups.push_back({name, part.extents(), is_choice ? Dtype::kI64 : part.dtype,
                            bytes ? part.full_scale() : 1.0f, all.size, part.size, part.start});
      const int end = all.size + part.size;
      const auto size = static_cast<std::size_t>(end);
      all.low.insert(all.low.end(), part.low.begin(), part.low.end());
      all.low.resize(size, 0.0f);
      all.high.insert(all.high.end(), part.high.begin(), part.high.end());
      all.high.resize(size, 1.0f);
      all.size += part.size;
    }
    return all;
  }

  // An action is a row of choices, then numbers of a Box; either may be absent. These functions
  // tell them apart, so that code need not ask for the kind.
  //
  // How many numbers of an action are choices. They come first.
  int choice_count() const {
    switch (kind) {
      case SpaceKind::kDiscrete:
        return 1;
      case SpaceKind::kMultiDiscrete:
        return size;
      case SpaceKind::kHybrid:
        return leading_choices;
      case SpaceKind::kBox:
        break;
    }
    return 0;
  }
  // How many numbers of an action are those of a Box. They come last.
  int box_count() const {
    return kind == SpaceKind::kBox || kind == SpaceKind::kHybrid ? size - leading_choices : 0;
  }
  bool has_choices() const { return choice_count() > 0; }
  bool has_box() const { return box_count() > 0; }
  // Bounds of number i of an action.
  float least(std::size_t i) const { return kind == SpaceKind::kDiscrete ? 0.0f : low[i]; }
  float most(std::size_t i) const {
    return kind == SpaceKind::kDiscrete ? static_cast<float>(size - 1) : high[i];
  }
  // The number of choices of each choice of an action: {n} if Discrete; empty for a Box.
  std::vector<int> choices() const {
    if (kind == SpaceKind::kDiscrete) return {size};
    std::vector<int> counts;
    const auto count = static_cast<std::size_t>(choice_count());
    for (std::size_t i = 0; i < count; ++i) counts.push_back(static_cast<int>(high[i]) + 1);
    return counts;
  }
  // M, the flags of valid actions in a state: one per choice of each number; 0 without masks.
  int mask_size() const {
    int flags = 0;
    if (!masked) return flags;
    for (const int count : choices()) flags += count;
    return flags;
  }
  // The shape; {size} if `shape` is empty.
  std::vector<int> extents() const { return shape.empty() ? std::vector<int>{size} : shape; }
  // The memory layout of frames in an observation (env/frames.h).
  FrameLayout frame_layout() const {
    return frames > 1 ? FrameLayout{frames, extents().back() / frames, frame_padding}
                      : FrameLayout();
  }
  // The divisor of uint8 numbers in front of a network: the largest upper bound, or 255 if that is
  // below 1. For float32, which networks see unscaled, 255.
  float full_scale() const {
    float largest = 0.0f;
    if (dtype == Dtype::kU8) {
      for (const float bound : high) largest = bound > largest ? bound : largest;
    }
    return largest >= 1.0f ? largest : 255.0f;
  }
};

// A space as text, with all that a network depends on: "Discrete(3)", "MultiDiscrete(3, 4)",
// "Hybrid(3, 4; 2 numbers)", "Box(4)" or "Box(84, 84, 4; uint8)". Another scale than 255 shows as
// "Box(10, 10, 4; uint8 to 1)", a stack of images as "Box(84, 84, 4; uint8, 4 frames)", masks as
// "Discrete(9; masked)", and groups as "Dict(image: 84 x 84 x 3; uint8, state: 7)".
std::string shape_text(const Space& space);
// Whether a network for one space fits the other.
bool same_shape(const Space& a, const Space& b);

// One term of a reward: reward = sum of weight * term. The environment defines the terms.
struct RewardTerm {
  std::string name;     // one word, such as "alive"
  double weight = 0.0;  // factor of the term
};

// A quantity that an environment measures in each step, besides the reward, such as the error to a
// commanded speed. Reports and evaluations show its mean over steps.
struct Measure {
  std::string name;  // one word, such as "speed_error"
  std::string unit;  // "m/s"; empty: none
};

// The range of a command that the policy must follow in an episode, such as a walking speed.
struct CommandRange {
  std::string name;  // with its unit
  double low = 0.0, high = 0.0;
};

// An input of an environment that differs between environments, such as a command or a place on the
// terrain. Constants drawn by strata do not count. VecEnv's capability AuditContext has its value.
struct ContextRange {
  std::string name;              // with its unit
  double low = 0.0, high = 0.0;  // range of the draws; equal: a constant
};

// Seeds of generated worlds that environments visit repeatedly, such as terrains or game levels.
struct WorldSeeds {
  std::uint64_t first = 0, count = 0;  // seeds first .. first + count - 1; count 0: none or unknown

  // Whether the two ranges share a seed.
  bool overlap(const WorldSeeds& other) const {
    if (count == 0 || other.count == 0) return false;
    return first <= other.first ? other.first - first < count : first - other.first < other.count;
  }
};

// The shared library that environments come from (plugins/): its name, version and content. Empty
// for other environments.
struct EnvPlugin {
  std::string name, version;  // see broadloom_plugin.h
  std::string hash;           // hash of the file's bytes, see core/hash.h

  bool operator==(const EnvPlugin&) const = default;
};

// D is observation.size, A is action_size().
struct EnvSpec {
  std::string id;     // "CartPole-v1"
  Space observation;  // the policy gets Discrete observations one-hot
  // Observation of the critic while a policy trains, instead of `observation`. It may hold
  // simulator state that the policy will not have. A Box; size 0: the critic reads `observation`.
  Space critic_observation;
  Space action;                       // Discrete, MultiDiscrete, hybrid or a Box of float32
  int max_episode_steps = 0;          // time limit in steps; 0: none
  bool has_reward_threshold = false;  // whether reward_threshold is set
  double reward_threshold = 0.0;      // upstream's threshold for "solved"
  // Two mean returns of whole episodes that a study maps to 0 and 1. docs/statistics.md lists their
  // sources. They hold for the default options and time limit; the registry removes them for
  // others.
  bool has_score_range = false;
  double random_score = 0.0;     // mean return of uniformly random actions
  double reference_score = 0.0;  // the optimum if known, else a good policy's return
  std::string upstream;          // library, version and file with the same dynamics
  // The external library that steps the environment, with version and input: "MuJoCo 4.0.0,
  // hopper.xml 8f3c...". Empty: Broadloom itself. Records keep it.
  std::string engine;
  std::string summary;  // one line for `broadloom env list`
  // Reasons why episodes end: the environment's own, then "time_limit". See env/outcome.h.
  std::vector<std::string> end_reasons{"terminated", "time_limit"};
  bool names_success = false;  // whether the environment reports success
  // Facts for records that only the environment knows. Empty: unknown.
  std::vector<RewardTerm> reward_terms;
  bool counts_reward_terms = false;  // StepCounter::take_step_sums() has each term's sum
  std::vector<Measure> measures;     // also summed by take_step_sums()
  // Length of take_step_sums(): the reward terms if they are counted, then the measures.
  std::size_t counted() const { return paid_terms() + measures.size(); }
  // Number of reward terms in take_step_sums().
  std::size_t paid_terms() const { return counts_reward_terms ? reward_terms.size() : 0; }
  std::vector<CommandRange> commands;  // empty: none
  std::string terrain;                 // in words; empty: unknown
  std::vector<ContextRange> context;   // for the audit; empty: unknown
  WorldSeeds world_seeds;              // for the audit
  EnvPlugin plugin;                    // the library it comes from
  std::vector<std::string> strata;     // names of strata, see env/strata.h; empty: none
  Mirror mirror;                       // a symmetry of the task; empty: none known

  // Sets the two scores above, mean returns of whole episodes.
  void set_score_range(double random, double reference) {
    has_score_range = true;
    random_score = random;
    reference_score = reference;
  }

  // Replaces the time limit; 0 keeps it. Removes the score range, since another limit is another
  // task.
  void set_time_limit(int steps) {
    if (steps <= 0 || steps == max_episode_steps) return;
    max_episode_steps = steps;
    has_score_range = false;
  }

  // D, the numbers per observation (one-hot width for Discrete).
  int observation_size() const { return observation.size; }
  // Whether the critic has its own observation.
  bool has_critic_observation() const { return critic_observation.size > 0; }
  // A, the floats per action: 1 for Discrete (the index).
  int action_size() const { return action.kind == SpaceKind::kDiscrete ? 1 : action.size; }
};

// Result of one step. Environments do not know time limits, so they do not report truncation.
struct StepResult {
  double reward;            // finite as float32: up to 3.4e38
  std::uint8_t terminated;  // 0 or not 0; GCC 12 makes no vector code for a bool here
};

}  // namespace broadloom
