#include "broadloom/setup/settings.h"

#include <algorithm>
#include <map>
#include <string>

#include "broadloom/config/schedule.h"
#include "broadloom/env/strata.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/network_shape.h"

namespace broadloom {
namespace {

AdvantageNorm advantage_norm_of(const std::string& name) {
  if (name == "off") return AdvantageNorm::kOff;
  if (name == "batch") return AdvantageNorm::kBatch;
  if (name == "running") return AdvantageNorm::kRunning;
  return AdvantageNorm::kMinibatch;
}

Shuffle shuffle_of(const std::string& name) {
  if (name == "block") return Shuffle::kBlock;
  return name == "off" ? Shuffle::kOff : Shuffle::kEpoch;
}

bool has_analytic_kl(const Config& config) {
  return config.kl_estimate == "analytic" && config.lr_schedule == "adaptive";
}

}  // namespace

PpoSettings ppo_settings(const Config& config) {
  PpoSettings settings;
  settings.loss = {config.clip_coef, config.clip_vloss, config.ent_coef, config.vf_coef};
  settings.loss.clip_vloss_coef = config.clip_vloss_coef;
  settings.loss.clips_value_alone = config.clip_vloss_rule == "clipped";
  settings.loss.bounds_coef = config.bounds_coef;
  settings.loss.analytic_kl = has_analytic_kl(config);
  settings.loss.mirror_samples = config.mirror_samples;
  settings.loss.mirror_coef = config.mirror_coef;
  // As in SAPG's code: the scale times 0.5 for the first follower.
  settings.loss.follower_entropy = 0.5 * config.sapg_entropy_scale;
  settings.relabel = {config.relabelled_followers(), config.sapg_clip == "paper", config.gamma,
                      truncation_mode(config)};
  if (config.clip_schedule != "constant") settings.clip_coef = clip_schedule(config);
  if (config.ent_schedule != "constant") settings.ent_coef = entropy_schedule(config);
  settings.gamma = config.gamma;
  settings.gae_lambda = config.gae_lambda;
  settings.gae_weights = gae_weights(config);
  settings.truncation_mode = truncation_mode(config);
  settings.update_epochs = config.update_epochs;
  settings.norm_adv = advantage_norm_of(config.norm_adv);
  settings.norm_adv_decay = config.norm_adv_decay;
  settings.proximal_decay = config.proximal_decay;
  settings.adam_betas = {config.adam_beta1, config.adam_beta2};
  settings.max_grad_norm = config.max_grad_norm;
  settings.target_kl = config.target_kl;
  settings.adam_eps = config.adam_eps;
  settings.adaptive_lr = config.lr_schedule == "adaptive";
  settings.desired_kl = config.desired_kl;
  settings.least_rate = config.adaptive_rate_min;
  settings.adapts_each_epoch = config.adapt_every == "epoch";
  settings.shuffle = shuffle_of(config.shuffle);
  settings.clips_sides_apart = config.clip_grads == "apart";
  settings.steps_together = config.is_recurrent() ? config.sequence_steps() : 1;
  return settings;
}

bool uses_mirror(const Config& config) { return ppo_settings(config).loss.uses_mirror(); }

PqnSettings pqn_settings(const Config& config) {
  PqnSettings settings;
  settings.gamma = config.gamma;
  settings.gae_lambda = config.gae_lambda;
  settings.truncation_mode = truncation_mode(config);
  settings.epsilon = {config.eps_start, config.eps_finish, config.eps_decay};
  settings.vf_coef = config.vf_coef;
  settings.update_epochs = config.update_epochs;
  settings.max_grad_norm = config.max_grad_norm;
  settings.adam_eps = config.adam_eps;
  settings.steps_together = config.is_recurrent() ? config.sequence_steps() : 1;
  return settings;
}

DistillSettings distill_settings(const Config& config) {
  DistillSettings settings;
  settings.loss = {.is_huber = config.distill_loss == "huber",
                   .steps = static_cast<double>(config.gradient_length)};
  settings.gamma = config.gamma;
  settings.gae_lambda = config.gae_lambda;
  settings.truncation_mode = truncation_mode(config);
  settings.update_epochs = config.update_epochs;
  settings.max_grad_norm = config.max_grad_norm;
  settings.adam_eps = config.adam_eps;
  settings.steps_together = config.is_recurrent() ? config.sequence_steps() : 1;
  return settings;
}

PpoRndSettings ppo_rnd_settings(const Config& config, const EnvSpec& spec) {
  PpoRndSettings settings;
  settings.ppo = ppo_settings(config);
  settings.ppo.loss.ext_coef = config.ext_coef;
  settings.ppo.loss.int_coef = config.int_coef;
  settings.rnd.seed = config.seed;
  settings.rnd.shape = rnd_shape(config, spec);
  settings.rnd.int_gamma = config.int_gamma;
  settings.rnd.update_proportion = config.update_proportion;
  settings.rnd.start_steps = std::int64_t{config.num_iterations_obs_norm_init} * config.num_steps;
  settings.rnd.own_statistics = !config.norm_obs;
  return settings;
}

BlockSizes run_block_sizes(const Config& config, const VecEnv& envs) {
  BlockSizes sizes = block_sizes(envs, config.num_steps, config.num_envs);
  sizes.critic = observation_type(critic_space(config, envs.spec()));
  sizes.with_intrinsic = value_outputs(config) > 1;
  sizes.with_means = has_analytic_kl(config) && envs.spec().action.has_box();
  sizes.policies = config.sapg_policies;
  sizes.with_labels = learns_from_teacher(config);
  sizes.policy_outputs = network_shape(config, envs.spec()).action_outputs;
  if (config.is_recurrent()) {
    sizes.state_size =
        static_cast<int>(ActorCritic(network_shape(config, envs.spec())).state_size());
    sizes.sequence = config.sequence_steps();
  }
  return sizes;
}

namespace {

// The numbers of environments of a schedule, ascending; each is reached when more environments
// join.
std::vector<int> joining_envs(const Config& config) {
  std::vector<int> counts;
  for (const ShapePhase& phase : config.shape_schedule.phases) {
    counts.push_back(phase.shape.num_envs);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

}  // namespace

VecEnvOptions vec_env_options(const Config& config) {
  VecEnvOptions options;
  options.num_envs = config.most_envs();
  options.seed = config.seed;
  options.stagger_starts = config.stagger_starts;
  options.stagger_by = config.stagger_by == "age" ? StaggerBy::kAge : StaggerBy::kActions;
  options.joining = joining_envs(config);
  options.max_episode_steps = config.max_episode_steps;
  options.seed_families = config.seed_families;
  options.strata_sampling = strata_sampling(config.strata_sampling);
  options.curriculum = curriculum_options(config);
  return options;
}

StrataSampling strata_sampling(const std::string& name) {
  return name == "stratified" ? StrataSampling::kStratified : StrataSampling::kSampled;
}

CurriculumOptions curriculum_options(const Config& config) {
  return {config.curriculum, config.curriculum_up, config.curriculum_down,
          config.curriculum_episodes};
}

bool strata_vary(const Config& config) {
  std::map<std::string, bool> varies;
  for (const auto& [key, text] : config.env_options) {
    if (!is_strata_key(key)) continue;
    const StrataKey parts = split_strata_key(key);
    if (parts.field == "weight") continue;
    const std::size_t dots = text.find("..");
    const bool range = dots != std::string::npos && text.substr(0, dots) != text.substr(dots + 2);
    varies[parts.stratum] = varies[parts.stratum] || range;
  }
  for (const auto& [stratum, is_varying] : varies) {
    if (!is_varying) return false;
  }
  return !varies.empty();
}

TruncationMode truncation_mode(const Config& config) {
  if (config.truncation_mode == "as_termination") return TruncationMode::kAsTermination;
  if (config.truncation_mode == "state_value") return TruncationMode::kStateValue;
  if (config.truncation_mode == "zero") return TruncationMode::kZero;
  return TruncationMode::kBootstrap;
}

GaeWeights gae_weights(const Config& config) {
  return config.gae_weights == "normalised" ? GaeWeights::kNormalised : GaeWeights::kGeometric;
}

NormaliserEps normaliser_eps(const Config& config) {
  return {config.obs_eps, config.obs_eps_in == "deviation"};
}

NormaliserRule normaliser_rule(const Config& config) {
  return config.normaliser == "gymnasium" ? NormaliserRule::kGymnasium : NormaliserRule::kExact;
}

std::optional<ValueNormalizer> value_normalizer(const Config& config) {
  if (config.norm_value == "off") return std::nullopt;
  return ValueNormalizer(config.norm_value == "popart" ? ValueNorm::kPopart : ValueNorm::kRunning);
}

int most_shards(const Config& config) {
  int most = 0;
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    most = std::max(most, ShardPlan(config.of_phase(p).num_envs, kTileRows).count());
  }
  return most;
}

namespace {

// The value of a clipped reward in the block, computed in the trainer's arithmetic.
double clipped_reward(const Config& config) {
  return static_cast<float>(config.clip_reward) * static_cast<float>(config.reward_scale);
}

}  // namespace

InstrumentSetup instrument_setup(const Config& config, const ActorCritic& network,
                                 const EnvSpec& spec, int threads, int most_envs) {
  return {.network = network,
          .num_steps = config.num_steps,
          .num_envs = config.num_envs,
          .most_envs = most_envs,
          .observation_size = spec.observation_size(),
          .action_size = spec.action_size(),
          .observation_kind = spec.observation.kind,
          .threads = threads,
          .probe = {},
          .critic_probe = {},
          .families = config.families(),
          .action = spec.action,
          .gamma = config.gamma,
          .gae_lambda = config.gae_lambda,
          .gae_weights = gae_weights(config),
          .truncation_mode = truncation_mode(config),
          .clip_obs = config.norm_obs ? config.clip_obs : 0.0,
          .clip_reward = config.norm_reward ? clipped_reward(config) : 0.0,
          .context_size = static_cast<int>(spec.context.size()),
          .draws_vary = strata_vary(config),
          .sequence = config.is_recurrent() ? config.sequence_steps() : 0};
}

}  // namespace broadloom
