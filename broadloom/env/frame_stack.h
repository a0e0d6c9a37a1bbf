// Environments that show an image, made to show the last few of them at once.
//
// Options "frame_stack" and "frame_padding" of every environment whose observations are uint8
// images (env.frame_stack = 4 in a config); off by default. What networks see is one observation of
// more channels, and a rollout block still stores each frame once (rollout/observations.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

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
      "Images that an observation shows, the newest last among its channels; 1: the present one.");
    v("frame_padding", frame_padding, Choices{{"first", "zero"}},
      "What stands for those before an episode's first: the first itself, or zeros.");
    last_needs(v, "frame_stack", "above 1");
  }
};

// Whether the option is one of those.
bool is_frame_option(std::string_view option);

// kInvalidConfig, with the nearest name or the range.
Result<FrameStack> make_frame_stack(const Overrides& options);

// Whether there are images to make stacks of: uint8 [H, W] or [H, W, C], and no stacks yet.
bool shows_frames(const EnvSpec& spec);

// What stacks make of the observation's space. kInvalidConfig where there are none to be made.
// Scores are taken away, as by any option: a policy that sees more may reach another one.
Status describe_frame_stack(const FrameStack& frames, EnvSpec& spec);

// The environments, with stacks. They begin with what the environments show when they are made:
// after a staggered start that is the middle of an episode, whose earlier frames nobody has seen.
// Takes the memory of a stack an environment, which is its state.
std::unique_ptr<VecEnv> stack_frames(std::unique_ptr<VecEnv> inner, const FrameStack& frames);
// What it was given; environments that it did not make, as they are.
const VecEnv& unstacked(const VecEnv& envs);

}  // namespace broadloom
