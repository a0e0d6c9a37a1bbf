#include "broadloom/instruments/probe_states.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace broadloom {
namespace {

// Not a seed that a run is likely to have.
constexpr std::uint64_t kProbeSeed = 0x70726f6265ull;

// Whether the observations themselves say what states there are.
bool are_listed(const EnvSpec& spec) {
  return spec.observation.kind == SpaceKind::kDiscrete && !spec.has_critic_observation();
}

std::vector<float> as_read(const Observations& observations, int rows) {
  std::vector<float> out(observations.size());
  observations.read(0, static_cast<std::size_t>(rows), out.data());
  return out;
}

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
  return are_listed(envs.spec()) || envs.another({}) != nullptr;
}

ProbeStates make_probe_states(const VecEnv& envs) {
  const EnvSpec& spec = envs.spec();
  const int size = spec.observation_size();
  const int rows = probe_rows(spec.observation.kind, size);
  if (are_listed(spec)) return {one_hot_states(rows, size), {}};
  VecEnvOptions options;
  options.num_envs = rows;
  options.seed = kProbeSeed;
  options.streams = StreamSet::kEvaluation;
  options.stagger_starts = true;
  const std::unique_ptr<VecEnv> probed = envs.another(options);
  if (probed == nullptr) return {};
  const std::size_t count = static_cast<std::size_t>(rows);
  Observations policy(observation_type(spec.observation), count);
  Observations critic(observation_type(spec.critic_observation), count);
  probed->observe(0, rows, policy.rows());
  if (!critic.empty()) probed->observe_critic(0, rows, critic.rows());
  return {as_read(policy, rows), as_read(critic, rows)};
}

}  // namespace broadloom
