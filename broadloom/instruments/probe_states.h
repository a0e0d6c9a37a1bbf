// Probe states: a fixed set of states for measuring networks, the same for every run.
#pragma once

#include <cstddef>
#include <vector>

#include "broadloom/env/vec_env.h"
#include "broadloom/instruments/instrument.h"

namespace broadloom {

inline constexpr int kProbeStates = 1024;

// Rows of the probe: one per state for up to kProbeStates Discrete observations, otherwise
// kProbeStates.
int probe_rows(SpaceKind observation_kind, int observation_size);
inline int probe_rows(const InstrumentSetup& setup) {
  return probe_rows(setup.observation_kind, setup.observation_size);
}
inline std::size_t probe_bytes(const InstrumentSetup& setup) {
  const int numbers = setup.observation_size + setup.network.shape().critic_observation_size;
  return static_cast<std::size_t>(probe_rows(setup)) * numbers * sizeof(float);
}

// Observations as networks read them, but not normalised.
struct ProbeStates {
  std::vector<float> policy;  // [probe_rows, D]
  std::vector<float> critic;  // [probe_rows, critic_observation_size]; empty if the critic has none
};

// Rows of a probe, starting at `first`. critic: may be empty.
inline NetworkInput<float> probe_from(std::span<const float> probe, std::span<const float> critic,
                                      std::size_t first, const NetworkShape& shape) {
  const float* seen = probe.data() + first * shape.observation_size;
  return {seen, critic.empty() ? seen : critic.data() + first * shape.critic_observation_size};
}

// Makes the probe states. They depend only on the environment and its options, not on the run's
// seed, network, N, T or threads. Numbers measured on them are thus comparable between runs, and a
// resumed run has the same. Empty if can_probe() is false.
//
// Discrete: every state in order, evenly thinned if there are too many.
//
// Box, or a critic with observations of its own: states of kProbeStates environments on an
// evaluation seed of their own. Environment i has played i / kProbeStates of an episode's time
// limit (1000 steps if there is none) under uniformly random actions. Further steps fill a stack of
// frames. Cost: kProbeStates / 2 episodes of full length, once.
//
// Other simulators may be slow, and some environments cannot begin in mid-episode (another() has
// none with stagger_starts). There, 16 environments are played under random actions and read before
// every fourth step, for 4,096 steps.
ProbeStates make_probe_states(const VecEnv& envs);
// Whether probe states exist. Box observations, and the critic's own ones, need environments that
// can make others of their kind.
bool can_probe(const VecEnv& envs);

}  // namespace broadloom
