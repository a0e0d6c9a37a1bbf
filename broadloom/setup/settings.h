// Derives the settings of a trainer's parts from its configuration.
#pragma once

#include <optional>

#include "broadloom/config/config.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/instruments/instrument.h"
#include "broadloom/learn/distill.h"
#include "broadloom/learn/ppo.h"
#include "broadloom/learn/ppo_rnd.h"
#include "broadloom/learn/pqn.h"
#include "broadloom/rollout/advantages.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/normalizer.h"
#include "broadloom/rollout/value_normalizer.h"

namespace broadloom {

PpoSettings ppo_settings(const Config& config);
PqnSettings pqn_settings(const Config& config);
DistillSettings distill_settings(const Config& config);
PpoRndSettings ppo_rnd_settings(const Config& config, const EnvSpec& spec);

// Sizes of the run's blocks. config: one phase, without a schedule.
BlockSizes run_block_sizes(const Config& config, const VecEnv& envs);

// Options of the training environments.
VecEnvOptions vec_env_options(const Config& config);
// From the value of the key strata_sampling, in a config or a panel.
StrataSampling strata_sampling(const std::string& name);
CurriculumOptions curriculum_options(const Config& config);
// Whether there are strata and each has a constant that varies between episodes. The environment
// must have checked the keys.
bool strata_vary(const Config& config);

TruncationMode truncation_mode(const Config& config);
GaeWeights gae_weights(const Config& config);
NormaliserRule normaliser_rule(const Config& config);
NormaliserEps normaliser_eps(const Config& config);
// Whether PPO learns from mirror images (env/mirror.h).
bool uses_mirror(const Config& config);
// None with norm_value = off.
std::optional<ValueNormalizer> value_normalizer(const Config& config);

// The largest number of shards of any phase.
int most_shards(const Config& config);

// network: must outlive the instruments. threads: of the pool. config: one phase, without a
// schedule, of a run with at most most_envs environments.
InstrumentSetup instrument_setup(const Config& config, const ActorCritic& network,
                                 const EnvSpec& spec, int threads, int most_envs);

}  // namespace broadloom
