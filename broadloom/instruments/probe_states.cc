#include "broadloom/instruments/probe_states.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace broadloom {
namespace {

// Not a seed that a run is likely to have.
constexpr std::uint64_t kProbeSeed = 0x70726f6265ull;

std::vector<float> one_hot_states(int rows, int size) {
  std::vector<float> states(static_cast<std::size_t>(rows) * size);
  for (int r = 0; r < rows; ++r) {
    const std::size_t state = static_cast<std::size_t>(std::int64_t{r} * size / rows);
    states[static_cast<std::size_t>(r) * size + state] = 1.0f;
  }
  return states;
}

}  // namespace

int probe_rows(SpaceKind observation_kind, int observation_size) {
  return observation_kind == SpaceKind::kDiscrete ? std::min(observation_size, kProbeStates)
                                                  : kProbeStates;
}

bool can_probe(const VecEnv& envs) {
  return envs.spec().observation.kind == SpaceKind::kDiscrete || envs.another({}) != nullptr;
}

std::vector<float> make_probe_states(const VecEnv& envs) {
  const EnvSpec& spec = envs.spec();
  const int size = spec.observation_size();
  const int rows = probe_rows(spec.observation.kind, size);
  if (spec.observation.kind == SpaceKind::kDiscrete) return one_hot_states(rows, size);
  VecEnvOptions options;
  options.num_envs = rows;
  options.seed = kProbeSeed;
  options.streams = StreamSet::kEvaluation;
  options.stagger_starts = true;
  const std::unique_ptr<VecEnv> probed = envs.another(options);
  if (probed == nullptr) return {};
  std::vector<float> states(static_cast<std::size_t>(rows) * size);
  probed->observe(0, rows, states.data());
  return states;
}

}  // namespace broadloom
