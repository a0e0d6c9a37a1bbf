#include "research/audit/first_starts.h"

#include <memory>

#include "broadloom/core/hash.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/rollout/observations.h"

namespace broadloom {

Result<std::vector<Fingerprint>> first_starts(const std::string& env_id,
                                              const Overrides& env_options,
                                              const VecEnvOptions& options) {
  Overrides undisturbed;
  for (const auto& option : env_options) {
    if (!is_disturbance_key(option.first)) undisturbed.push_back(option);
  }
  Result<std::unique_ptr<VecEnv>> envs = make_vec_env(env_id, undisturbed, options);
  if (!envs.ok()) return envs.status();
  const EnvSpec& spec = envs.value()->spec();
  std::vector<Fingerprint> starts;
  if (spec.observation.kind == SpaceKind::kDiscrete) return starts;
  Observations rows(observation_type(spec.observation), static_cast<std::size_t>(options.num_envs));
  envs.value()->observe(0, options.num_envs, rows.rows());
  for (int n = 0; n < options.num_envs; ++n) {
    starts.push_back({hash64(rows.row_bytes(static_cast<std::size_t>(n))), n});
  }
  return starts;
}

}  // namespace broadloom
