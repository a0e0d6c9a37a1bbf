// Evaluates a policy's network on observations, without an environment.
#pragma once

#include <cstddef>
#include <vector>

#include "broadloom/evaluate/policy.h"
#include "broadloom/rollout/observations.h"

namespace broadloom {

struct PolicyOutputs {
  std::vector<float> outputs;  // [rows, A]: logits, means or action values
  // [rows, V] of the critic, rewards first, not normalised; empty if it has observations of its
  // own.
  std::vector<float> values;
};

// observations: `rows` rows as the environment gives them, not normalised; Discrete ones one-hot.
// states: of a recurrent network, [rows, state_size] before these observations; becomes those after
// them. Null: zeros, as at the first step of an episode.
PolicyOutputs policy_outputs(const Policy& policy, const Observations& observations,
                             std::size_t rows, float* states = nullptr);

}  // namespace broadloom
