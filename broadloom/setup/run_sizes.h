// The sizes of a run, from which memory and rank plans are computed.
#pragma once

#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"
#include "broadloom/setup/algorithms.h"

namespace broadloom {

struct RunSizes {
  // Both must outlive it. run_envs: any number of the run's environments.
  RunSizes(const Config& run_config, const VecEnv& run_envs);

  const Config& config;
  const VecEnv& envs;
  const EnvSpec& spec;
  ActorCritic network;
  CompanionSize companion;
  // One per phase, at least one. The configs have no schedule.
  std::vector<Config> phases;
  std::vector<BlockSizes> blocks;
};

}  // namespace broadloom
