// What the parts of a trainer are told of its configuration.
#pragma once

#include "broadloom/config/config.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/instruments/instrument.h"
#include "broadloom/learn/ppo.h"
#include "broadloom/learn/ppo_rnd.h"
#include "broadloom/learn/pqn.h"
#include "broadloom/rollout/advantages.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/normalizer.h"

namespace broadloom {

PpoSettings ppo_settings(const Config& config);
PqnSettings pqn_settings(const Config& config);
PpoRndSettings ppo_rnd_settings(const Config& config, const EnvSpec& spec);

// Of the run's blocks; config: without a schedule, of one phase.
BlockSizes run_block_sizes(const Config& config, const VecEnv& envs);

// The training environments.
VecEnvOptions vec_env_options(const Config& config);
// From the value of that key, of a config or a panel.
StrataSampling strata_sampling(const std::string& name);
CurriculumOptions curriculum_options(const Config& config);
// Whether there are strata, and each has a constant that differs between episodes. From keys that
// the environment has checked.
bool strata_vary(const Config& config);

TruncationMode truncation_mode(const Config& config);
NormaliserRule normaliser_rule(const Config& config);

// Shards that sum their statistics by themselves; in the phase that has the most.
int most_shards(const Config& config);

// network: must outlive what is set up. threads: of the pool. config: without a schedule, of one
// phase of a run that has most_envs environments.
InstrumentSetup instrument_setup(const Config& config, const ActorCritic& network,
                                 const EnvSpec& spec, int threads, int most_envs);

}  // namespace broadloom
