// Valid actions: the choices that an environment allows in its present state, as flags.
//
// A policy never chooses an invalid action: its probability is exactly 0. An environment whose spec
// has action.masked needs the capability ActionMasks. Environments without masks store no flags.
//
// The M = spec().action.mask_size() flags of a state are bytes, 1 for a valid choice and 0 for an
// invalid one. A MultiDiscrete action has the flags of its first number, then of its second, and so
// on; each number needs a valid choice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "broadloom/env/simulator_call.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// Capability: environments that say which actions are valid.
class ActionMasks {
 public:
  virtual ~ActionMasks() = default;

  // Writes the flags that belong to the present observations of environments [begin, end): [k, M].
  // May be called wherever VecEnv::observe() may.
  virtual void valid_actions(int begin, int end, std::uint8_t* flags) const = 0;
};

// Rows of flags that are read again and again; empty without masks.
class MaskRows {
 public:
  MaskRows(const EnvSpec& spec, std::size_t rows)
      : width_(static_cast<std::size_t>(spec.action.mask_size())),
        choices_(width_ > 0 ? spec.action.choices() : std::vector<int>{}),
        flags_(rows * width_) {}

  // Bytes of one row.
  std::size_t width() const { return width_; }
  // Reads environments [begin, end) into rows from `first` on. Does nothing without masks.
  // Throws a SimulatorError if the simulator throws.
  void read(const VecEnv& envs, int begin, int end, std::size_t first = 0) {
    if (width_ == 0) return;
    name_exceptions(envs.spec().id, "valid_actions", [&] {
      capability<ActionMasks>(envs)->valid_actions(begin, end, &flags_[first * width_]);
    });
  }
  // Flags of row k; null without masks, which means that every choice is valid.
  const std::uint8_t* row(std::size_t k) const {
    return width_ == 0 ? nullptr : &flags_[k * width_];
  }
  // Whether each number of row k's action has a valid choice.
  bool can_act(std::size_t k) const {
    const std::uint8_t* flags = row(k);
    for (const int count : choices_) {
      if (std::none_of(flags, flags + count, [](std::uint8_t flag) { return flag != 0; })) {
        return false;
      }
      flags += count;
    }
    return true;
  }

 private:
  std::size_t width_;
  std::vector<int> choices_;
  std::vector<std::uint8_t> flags_;  // [rows, M]
};

}  // namespace broadloom
