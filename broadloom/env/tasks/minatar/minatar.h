// Common parts of the five MinAtar games: six actions, sticky actions, and a picture of 10 x 10
// cells with one plane per kind of object.
//
// MinAtar comes from Young and Tian (2019), "MinAtar: An Atari-inspired testbed for thorough and
// reproducible reinforcement learning experiments". These games follow the rules of version 1.0.15;
// tests/oracle compares them with that package.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"

namespace broadloom::minatar {

inline constexpr int kSide = 10;  // rows and columns
inline constexpr int kLast = kSide - 1;

enum Action : int { kStay, kLeft, kUp, kRight, kDown, kFire, kActions };

// A subset of the six actions in ascending order, four bits each. The upper four bits hold their
// number.
using ActionSet = std::uint32_t;
template <class... Actions>
constexpr ActionSet action_set(Actions... actions) {
  ActionSet set = static_cast<ActionSet>(sizeof...(actions)) << 28;
  int position = 0;
  ((set |= static_cast<ActionSet>(actions) << (4 * position++)), ...);
  return set;
}
BROADLOOM_HD constexpr int count_of(ActionSet set) { return static_cast<int>(set >> 28); }
BROADLOOM_HD constexpr int action_of(ActionSet set, int index) {
  return static_cast<int>((set >> (4 * index)) & 15u);
}

struct Options {
  double sticky_action_prob = 0.1;
  bool use_minimal_action_set = false;

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("sticky_action_prob", sticky_action_prob, Range{0.0, 1.0},
      "Probability of repeating the previous action instead of the chosen one.");
    v("use_minimal_action_set", use_minimal_action_set,
      "Whether to leave out actions that do nothing in this game.");
  }
};

// Options of games that get harder.
struct RampingOptions : Options {
  bool difficulty_ramping = true;

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    Options::visit_fields(v);
    v("difficulty_ramping", difficulty_ramping, "Whether the game gets faster over time.");
  }
};

// Constants of the games.
struct Params {
  double sticky_action_prob = 0.1;
  bool use_minimal_action_set = false;
  bool difficulty_ramping = true;
};
inline Params params_of(const Options& options) {
  return {options.sticky_action_prob, options.use_minimal_action_set};
}
inline Params params_of(const RampingOptions& options) {
  return {options.sticky_action_prob, options.use_minimal_action_set, options.difficulty_ramping};
}

// Applies sticky actions: returns the action to execute for `chosen`, and stores it in `last`, the
// previous one. As upstream, `last` survives episodes, so environments list it in `kept`.
template <class Draws>
BROADLOOM_HD int taken_action(const Params& params, ActionSet minimal, float chosen,
                              std::int16_t& last, Draws& draws) {
  int action = static_cast<int>(chosen);
  if (params.use_minimal_action_set) action = action_of(minimal, action);
  if (params.sticky_action_prob > 0.0 && draws.uniform() < params.sticky_action_prob) {
    action = last;
  }
  last = static_cast<std::int16_t>(action);
  return action;
}

// Adds the range of the last action.
template <class State>
void add_last_action(StateRanges<State>& ranges) {
  ranges.add(&State::last_action, 0, kActions - 1);
}

// Writes an observation, [rows, columns, planes].
template <int kPlanes>
class Picture {
 public:
  static constexpr int kSize = kSide * kSide * kPlanes;

  BROADLOOM_HD explicit Picture(std::uint8_t* out) : out_(out) { std::memset(out, 0, kSize); }
  BROADLOOM_HD void set(int plane, int row, int column) const {
    out_[(row * kSide + column) * kPlanes + plane] = 1;
  }
  // As set(), but ignores a column beyond an edge.
  BROADLOOM_HD void set_within(int plane, int row, int column) const {
    if (column >= 0 && column <= kLast) set(plane, row, column);
  }

 private:
  std::uint8_t* out_;
};

// The common part of the games' specs. The id is that of the version with all six actions, -v0 in
// MinAtar's registration for Gymnasium. Each .cc also registers the minimal set.
inline EnvSpec spec_of(const char* game, const char* file, int planes, ActionSet minimal,
                       const Params& params) {
  EnvSpec spec;
  spec.id = std::string("MinAtar/") + game + "-v0";
  spec.observation = Space::bits({kSide, kSide, planes});
  spec.action = Space::discrete(params.use_minimal_action_set ? count_of(minimal)
                                                              : static_cast<int>(kActions));
  spec.upstream = std::string("MinAtar 1.0.15 environments/") + file;
  return spec;
}

}  // namespace broadloom::minatar
