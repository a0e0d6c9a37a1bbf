// The key shape_schedule: block shapes that change over a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/rollout/block_shape.h"

namespace broadloom {

// One entry: the block shape from a given share of the run.
struct ShapePhase {
  BlockShape shape;
  int minibatch_size = 0;  // M; 0: from num_minibatches or minibatch_size
  double start = 0.0;      // share of total_timesteps at which it begins

  bool operator==(const ShapePhase&) const = default;
};

// In the order of their starts, the first at 0. Empty: all blocks are num_envs x num_steps.
struct ShapeSchedule {
  static constexpr const char* kTypeName = "schedule";  // in help and reference

  std::vector<ShapePhase> phases;

  bool empty() const { return phases.empty(); }
  bool operator==(const ShapeSchedule&) const = default;

  // The phase of the block that begins after `step` steps. A phase begins with the first block that
  // begins at or after its start. 0 if the schedule is empty.
  std::size_t phase_at(std::int64_t step, std::int64_t total_timesteps) const;
};

// "8x128 @ 0, 64x16/256 @ 0.3": num_envs x num_steps, /minibatch_size if the entry has its own, and
// the start. parse_text() inverts to_text(). kInvalidConfig names the bad entry.
std::string to_text(const ShapePhase& phase);
std::string to_text(const ShapeSchedule& schedule);
Status parse_text(std::string_view text, ShapeSchedule& out);

// Consecutive blocks of one shape.
struct Stretch {
  std::size_t phase = 0;
  std::int64_t first_step = 0;  // environment steps before it
  std::int64_t blocks = 0;      // at least 1
  std::int64_t batch = 0;       // B of each

  std::int64_t end_step() const { return first_step + blocks * batch; }
};

// All whole blocks of a run, which ends before a block would exceed total_timesteps. A phase in
// which no block begins has no stretch. The schedule must not be empty.
std::vector<Stretch> stretches(const ShapeSchedule& schedule, std::int64_t total_timesteps);

}  // namespace broadloom
