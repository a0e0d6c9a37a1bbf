#include "broadloom/instruments/probe_states.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "broadloom/core/random.h"
#include "broadloom/env/random_action.h"

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

// A stack whose frames are all one has been through no step. (`probed` begins with such.)
void fill_stacks(VecEnv& probed) {
  const EnvSpec& spec = probed.spec();
  const int count = probed.num_envs();
  const std::size_t rows = static_cast<std::size_t>(count);
  const std::size_t width = static_cast<std::size_t>(spec.action_size());
  Observations seen(observation_type(spec.observation), rows), last(seen.type(), rows);
  Observations critic(observation_type(spec.critic_observation), rows), critic_last(critic);
  std::vector<float> actions(rows * width), rewards(rows);
  std::vector<std::uint8_t> terminated(rows), truncated(rows);
  for (int t = 1; t < spec.observation.frames; ++t) {
    for (std::size_t n = 0; n < rows; ++n) {
      Random random(kProbeSeed, Purpose::kInstruments, static_cast<std::uint32_t>(n),
                    static_cast<std::uint64_t>(t));
      draw_action(spec.action, random, &actions[n * width]);
    }
    StepRows step{actions.data(),    seen.rows(),      rewards.data(),
                  terminated.data(), truncated.data(), last.rows()};
    step.critic_observations = critic.rows();
    step.final_critic_observations = critic_last.rows();
    if (!probed.step(0, count, step).ok()) return;  // they show what they showed before
  }
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
  if (probed->spec().observation.frames > 1) fill_stacks(*probed);
  const std::size_t count = static_cast<std::size_t>(rows);
  Observations policy(observation_type(spec.observation), count);
  Observations critic(observation_type(spec.critic_observation), count);
  probed->observe(0, rows, policy.rows());
  if (!critic.empty()) probed->observe_critic(0, rows, critic.rows());
  return {as_read(policy, rows), as_read(critic, rows)};
}

}  // namespace broadloom
