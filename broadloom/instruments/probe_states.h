// The probe states: a fixed set of states on which networks are looked at, the same for every run.
#pragma once

#include <cstddef>
#include <vector>

#include "broadloom/env/vec_env.h"
#include "broadloom/instruments/instrument.h"

namespace broadloom {

inline constexpr int kProbeStates = 1024;

// Rows of the probe: one a state where observations are Discrete and not more, else kProbeStates.
int probe_rows(SpaceKind observation_kind, int observation_size);
inline int probe_rows(const InstrumentSetup& setup) {
  return probe_rows(setup.observation_kind, setup.observation_size);
}
inline std::size_t probe_bytes(const InstrumentSetup& setup) {
  const int numbers = setup.observation_size + setup.network.shape().critic_observation_size;
  return static_cast<std::size_t>(probe_rows(setup)) * numbers * sizeof(float);
}

// Observations, as networks read them but not normalised.
struct ProbeStates {
  std::vector<float> policy;  // [probe_rows, D]
  std::vector<float> critic;  // [probe_rows, of what only the critic reads]; empty: nothing
};

// Rows of a probe from `first` on. critic: may be empty.
inline NetworkInput<float> probe_from(std::span<const float> probe, std::span<const float> critic,
                                      std::size_t first, const NetworkShape& shape) {
  const float* seen = probe.data() + first * shape.observation_size;
  return {seen, critic.empty() ? seen : critic.data() + first * shape.critic_observation_size};
}

// They depend on the environment and its options
// alone: not on the run's seed, its network, N, T or threads, so that numbers measured on them can
// be set beside each other, and a resumed run has the same. Discrete: every state in order, evenly
// thinned where there are too many. Box, and where the critic reads something of its own: of
// kProbeStates environments on an evaluation seed of their own, number i after i / kProbeStates of
// an episode's time limit (of 1000 steps without one) under uniformly random actions, and as many
// steps on as it takes to fill a stack of frames. Cost: kProbeStates / 2 episodes of full length,
// once. Of simulators of others, whose steps may take long, and of environments that cannot begin
// in the middle of an episode (another() has none with stagger_starts), 16 are played under random
// actions, and looked at before every fourth step: 4,096 steps.
// Empty where there are none, see can_probe().
ProbeStates make_probe_states(const VecEnv& envs);
// Whether there are any: Box observations take environments that can make others of their kind, and
// so does what only the critic reads.
bool can_probe(const VecEnv& envs);

}  // namespace broadloom
