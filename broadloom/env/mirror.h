// A mirror: a symmetry of a task, such as a robot's left and right. Starts, dynamics, rewards and
// ends are the same for mirrored observations and actions. PPO can learn from each sample's mirror
// image too (mirror_samples, mirror_coef).
//
//   spec.mirror = {.observation = "+0 -1 -2", .action = "-0"};  // Pendulum: cosine, sine, speed
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

struct EnvSpec;

// Number i of the mirror image is sign[i] times number index[i].
struct SignedPermutation {
  std::vector<std::int32_t> index;  // -1 where a text was wrong
  std::vector<float> sign;          // 1 or -1

  SignedPermutation() = default;
  // "+0 -2 -1": number 0 stays, numbers 1 and 2 change places and signs.
  SignedPermutation(const char* text) : SignedPermutation(std::string_view(text)) {}
  explicit SignedPermutation(std::string_view text);

  std::size_t size() const { return index.size(); }
  bool empty() const { return index.empty(); }
  std::string text() const;
  // Adds the terms of another one, for the numbers that follow.
  SignedPermutation& append(const SignedPermutation& other);

  // Replaces numbers [size] by their image, if this is its own inverse. Number i is at
  // numbers[i * stride].
  template <class Real>
  void reflect(Real* numbers, std::size_t stride = 1) const {
    for (std::size_t i = 0; i < index.size(); ++i) {
      const auto other = static_cast<std::size_t>(index[i]);
      if (other < i) continue;
      const Real factor = static_cast<Real>(sign[i]);
      const Real first = numbers[i * stride], second = numbers[other * stride];
      numbers[i * stride] = factor * second;
      numbers[other * stride] = factor * first;
    }
  }
};

struct Mirror {
  SignedPermutation observation;         // [D]
  SignedPermutation critic_observation;  // [critic's D], if it has an observation of its own
  // [A] of a Box. For Discrete actions [n]: choice i becomes choice index[i], and signs are +.
  SignedPermutation action;

  bool exists() const { return !observation.empty(); }
};

// Fails unless spec.mirror fits the spaces, is its own inverse, and maps bounds to bounds.
// kInvalidConfig.
Status check_mirror(const EnvSpec& spec);

}  // namespace broadloom
