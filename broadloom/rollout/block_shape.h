// The shape of a rollout block: N environments and T steps.
#pragma once

namespace broadloom {

struct BlockShape {
  int num_envs = 1;   // N
  int num_steps = 1;  // T
  int batch() const { return num_envs * num_steps; }
  bool operator==(const BlockShape&) const = default;
};

}  // namespace broadloom
