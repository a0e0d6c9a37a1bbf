// The sizes that a run makes its rooms for. Plans of memory and ranks are worked out from them.
#pragma once

#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"
#include "broadloom/setup/algorithms.h"

namespace broadloom {

struct RunSizes {
  // Both must outlive it; run_envs: any number of the run's kind.
  RunSizes(const Config& run_config, const VecEnv& run_envs);

  const Config& config;
  const VecEnv& envs;
  const EnvSpec& spec;
  ActorCritic network;
  CompanionSize companion;
  // Of each phase, at least one; configs without a schedule.
  std::vector<Config> phases;
  std::vector<BlockSizes> blocks;
};

}  // namespace broadloom
