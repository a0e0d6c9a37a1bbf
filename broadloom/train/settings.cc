#include "broadloom/train/settings.h"

#include <string>

namespace broadloom {
namespace {

AdvantageNorm advantage_norm_of(const std::string& name) {
  if (name == "off") return AdvantageNorm::kOff;
  if (name == "batch") return AdvantageNorm::kBatch;
  return AdvantageNorm::kMinibatch;
}

}  // namespace

PpoSettings ppo_settings(const Config& config) {
  PpoSettings settings;
  settings.loss = {config.clip_coef, config.clip_vloss, config.ent_coef, config.vf_coef};
  settings.update_epochs = config.update_epochs;
  settings.norm_adv = advantage_norm_of(config.norm_adv);
  settings.max_grad_norm = config.max_grad_norm;
  settings.target_kl = config.target_kl;
  settings.adam_eps = config.adam_eps;
  settings.adaptive_lr = config.lr_schedule == "adaptive";
  settings.desired_kl = config.desired_kl;
  return settings;
}

VecEnvOptions vec_env_options(const Config& config) {
  VecEnvOptions options;
  options.num_envs = config.num_envs;
  options.seed = config.seed;
  options.stagger_starts = config.stagger_starts;
  options.max_episode_steps = config.max_episode_steps;
  options.seed_families = config.seed_families;
  options.strata_sampling = strata_sampling(config);
  options.curriculum = curriculum_options(config);
  return options;
}

StrataSampling strata_sampling(const Config& config) {
  return config.strata_sampling == "stratified" ? StrataSampling::kStratified
                                                : StrataSampling::kSampled;
}

CurriculumOptions curriculum_options(const Config& config) {
  return {config.curriculum, config.curriculum_up, config.curriculum_down,
          config.curriculum_episodes};
}

InstrumentSetup instrument_setup(const Config& config, const ActorCritic& network,
                                 const EnvSpec& spec, int threads) {
  return {network,
          ppo_settings(config),
          config.num_steps,
          config.num_envs,
          spec.observation_size(),
          spec.action_size(),
          spec.observation.kind,
          threads,
          {}};
}

}  // namespace broadloom
