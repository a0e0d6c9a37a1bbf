// Shapes of rollout blocks that take turns over a run: the key shape_schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/rollout/block_shape.h"

namespace broadloom {

// One entry: the shape of blocks from some share of the run on.
struct ShapePhase {
  BlockShape shape;
  int minibatch_size = 0;  // M; 0: what num_minibatches or minibatch_size make of the block
  double start = 0.0;      // share of total_timesteps that lies behind when it begins

  bool operator==(const ShapePhase&) const = default;
};

// In the order of their starts, the first at 0. Empty: all blocks are num_envs x num_steps.
struct ShapeSchedule {
  static constexpr const char* kTypeName = "schedule";  // in help and reference

  std::vector<ShapePhase> phases;

  bool empty() const { return phases.empty(); }
  bool operator==(const ShapeSchedule&) const = default;

  // The phase that a block belongs to which begins with so many steps of total_timesteps behind:
  // a shape changes at the first end of a block at or after its start. 0 where there is none.
  std::size_t phase_at(std::int64_t step, std::int64_t total_timesteps) const;
};

// "8x128 @ 0, 64x16/256 @ 0.3": num_envs x num_steps, /minibatch_size where the entry has one of
// its own, and the start. Each parses back to what it was made from. kInvalidConfig says which
// entry is amiss.
std::string to_text(const ShapePhase& phase);
std::string to_text(const ShapeSchedule& schedule);
Status parse_text(std::string_view text, ShapeSchedule& out);

// Blocks of one shape after one another.
struct Stretch {
  std::size_t phase = 0;
  std::int64_t first_step = 0;  // environment steps before it
  std::int64_t blocks = 0;      // at least 1
  std::int64_t batch = 0;       // B of each

  std::int64_t end_step() const { return first_step + blocks * batch; }
};

// All blocks of a run, whole ones only: it ends where the next one would pass total_timesteps.
// A phase in which no block begins has none. The schedule is not empty.
std::vector<Stretch> stretches(const ShapeSchedule& schedule, std::int64_t total_timesteps);

}  // namespace broadloom
