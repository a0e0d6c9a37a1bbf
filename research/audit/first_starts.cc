#include "research/audit/first_starts.h"

#include <algorithm>
#include <memory>

#include "broadloom/core/hash.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/episode_waves.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/lanes.h"
#include "broadloom/rollout/observations.h"

namespace broadloom {

Result<std::vector<Fingerprint>> first_starts(const std::string& env_id,
                                              const Overrides& env_options,
                                              const VecEnvOptions& options, int training_envs) {
  Overrides undisturbed;
  for (const auto& option : env_options) {
    if (!is_disturbance_key(option.first)) undisturbed.push_back(option);
  }
  // In training fewer starts than environments may be asked for; the first are then the same.
  const bool is_training = options.streams == StreamSet::kTraining && !is_built_in(env_id);
  const Result<int> lanes = lanes_of(env_id, undisturbed, options, training_envs);
  if (!lanes.ok()) return lanes.status();
  VecEnvOptions made = options;
  made.num_envs = is_training ? training_envs : lanes.value();
  Result<std::unique_ptr<VecEnv>> envs = make_vec_env(env_id, undisturbed, made);
  if (!envs.ok()) return envs.status();
  const EnvSpec& spec = envs.value()->spec();
  std::vector<Fingerprint> starts;
  if (spec.observation.kind == SpaceKind::kDiscrete) return starts;
  Observations rows(observation_type(spec.observation), static_cast<std::size_t>(made.num_envs));
  for (int first = 0; first < options.num_envs; first += made.num_envs) {
    if (first > 0) {
      BROADLOOM_TRY(call_simulator(
          spec.id, "begin_wave", [&] { return episode_waves(*envs.value())->begin_wave(first); }));
    }
    BROADLOOM_TRY(with_simulator_errors(
        [&] { observe_simulator(*envs.value(), 0, made.num_envs, rows.rows()); }));
    for (int n = first; n < std::min(first + made.num_envs, options.num_envs); ++n) {
      starts.push_back({hash64(rows.row_bytes(static_cast<std::size_t>(n - first))), n});
    }
  }
  return starts;
}

}  // namespace broadloom
