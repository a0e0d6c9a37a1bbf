#include "broadloom/evaluate/lanes.h"

#include <memory>

#include "broadloom/env/episode_waves.h"
#include "broadloom/env/tasks/registry.h"

namespace broadloom {

Result<int> lanes_of(const std::string& env_id, const Overrides& env_options,
                     const VecEnvOptions& options, int training_envs) {
  const int episodes = options.num_envs;
  if (episodes <= training_envs || is_built_in(env_id)) return episodes;
  VecEnvOptions described = options;
  described.num_envs = training_envs;
  described.only_described = true;
  const Result<std::unique_ptr<VecEnv>> looked = make_vec_env(env_id, env_options, described);
  if (!looked.ok()) return looked.status();
  const bool in_waves =
      looked.value()->traits().whole_batch && episode_waves(*looked.value()) != nullptr;
  return in_waves ? training_envs : episodes;
}

}  // namespace broadloom
