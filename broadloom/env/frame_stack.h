// Stacks the last few images of an environment into one observation.
//
// Options "frame_stack" and "frame_padding" of all environments with uint8 images (env.frame_stack
// = 4 in a config). Off by default. Networks see one observation with more channels. A rollout
// block still stores each frame once (rollout/observations.h).
#pragma once

#include <memory>
#include <string>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

struct FrameStack {
  int frame_stack = 1;
  std::string frame_padding = "first";

  bool any() const { return frame_stack > 1; }

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("frame_stack", frame_stack, Range{1, kMostFrames},
      "Images per observation, the newest in the last channels; 1: only the current one.");
    v("frame_padding", frame_padding, Choices{{"first", "zero"}},
      "Fill for images before an episode's first one: that first image, or zeros.");
    last_needs(v, "frame_stack", "above 1");
  }
};

// Whether observations are single images: uint8, [H, W] or [H, W, C].
bool shows_frames(const EnvSpec& spec);

// Updates the observation space for stacks. kInvalidConfig if observations are not single images.
// Removes the score range, since a policy that sees more may reach another score.
Status describe_frame_stack(const FrameStack& frames, EnvSpec& spec);

// Wraps the environments. Stacks begin with the environments' current observations. After a
// staggered start, this is the middle of an episode whose earlier frames are unknown. Each
// environment takes the memory of one stack, saved as state.
std::unique_ptr<VecEnv> stack_frames(std::unique_ptr<VecEnv> inner, const FrameStack& frames);
// The environments that stack_frames() was given. Others come back unchanged.
const VecEnv& unstacked(const VecEnv& envs);

}  // namespace broadloom
