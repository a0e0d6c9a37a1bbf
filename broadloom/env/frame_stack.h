// Stacks the last few observations (frames) of an environment into one.
//
// Options "frame_stack", "frame_stack_of" and "frame_padding" of all environments that observe a
// Box (env.frame_stack = 4 in a config). Off by default. Networks see one observation with more
// channels; of vectors [D] they see [k D], as Gymnasium's FrameStackObservation, flattened. A
// rollout block stores each frame of bytes once (rollout/observations.h), and stacks of floats
// whole. Noise and delays (env/disturbance.h) act on each frame as it is seen.
//
// Each group of a dictionary has a stack of its own: env.frame_stack = 4 for all, or
// env.frame_stack_of = ["image:4", "turn:2"]. A Box without groups is one group without a name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// Most numbers per pixel of a stack of float32, over all frames. A vector is one pixel.
inline constexpr int kMostPixelFloats = 1 << 20;

struct FrameStack {
  int frame_stack = 1;
  std::vector<std::string> frame_stack_of{};
  std::string frame_padding = "first";

  bool any() const { return frame_stack > 1 || !frame_stack_of.empty(); }

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("frame_stack", frame_stack, Range{1, kMostFrames},
      "Observations seen at once, oldest first, images by channels; 1: only the current one.");
    v("frame_stack_of", frame_stack_of,
      "Stacks of single groups, in place of frame_stack: image:4, turn:2. The last one that names "
      "a "
      "group counts.");
    v("frame_padding", frame_padding, Choices{{"first", "zero"}},
      "Fill for observations before an episode's first one: that first one, or zeros.");
    last_needs(v, "frame_stack or frame_stack_of = set", "above 1");
  }
};

// Whether observations are Boxes that can be stacked: [D], [H, W] or [H, W, C], and no stacks yet;
// or dictionaries.
bool shows_frames(const EnvSpec& spec);

// The frames of each group of `spec`; without groups, those of the Box. 1: not stacked.
// kInvalidConfig if frame_stack_of names what is not there.
Result<std::vector<int>> stack_counts(const FrameStack& frames, const EnvSpec& spec);

// Updates the observation space for stacks. kInvalidConfig if observations cannot be stacked.
// Removes the score range, since a policy that sees more may reach another score. A stack of
// one-hot choices is a vector of bytes.
Status describe_frame_stack(const FrameStack& frames, EnvSpec& spec);

// Wraps the environments. Stacks begin with the environments' current observations. After a
// staggered start, this is the middle of an episode whose earlier frames are unknown. Each
// environment takes the memory of one stack, saved as state. A critic's own observation is not
// stacked.
std::unique_ptr<VecEnv> stack_frames(std::unique_ptr<VecEnv> inner, const FrameStack& frames);
// The frames of the longest stack in an observation; 1: no stacks.
int longest_stack(const VecEnv& envs);
// The environments whose frames of bytes stack_frames() was given. Others come back unchanged.
const VecEnv& unstacked(const VecEnv& envs);

}  // namespace broadloom
