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
