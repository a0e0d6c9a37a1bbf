// Names of a config's keys in other libraries.
#include "broadloom/config/config.h"

namespace broadloom {
namespace {

// Matched without hyphens and letter case.
constexpr Alias kAliases[] = {
    {"env", "env_id"},
    {"env_name", "env_id"},
    {"environment", "env_id"},
    {"task", "env_id"},
    {"timesteps", "total_timesteps"},
    {"num_timesteps", "total_timesteps"},
    {"total_steps", "total_timesteps"},
    {"steps", "total_timesteps"},
    {"lr", "learning_rate"},
    {"step_size", "learning_rate"},
    {"n_envs", "num_envs"},
    {"envs", "num_envs"},
    {"num_actors", "num_envs"},
    {"n_steps", "num_steps"},
    {"horizon", "num_steps"},
    {"horizon_length", "num_steps"},
    {"rollout_length", "num_steps"},
    {"epochs", "update_epochs"},
    {"n_epochs", "update_epochs"},
    {"num_epochs", "update_epochs"},
    {"mini_epochs", "update_epochs"},
    {"batch_size", "minibatch_size"},
    {"n_minibatches", "num_minibatches"},
    {"clip", "clip_coef"},
    {"clip_range", "clip_coef"},
    {"clip_ratio", "clip_coef"},
    {"e_clip", "clip_coef"},
    {"eps_clip", "clip_coef"},
    {"entropy_coef", "ent_coef"},
    {"entropy_coeff", "ent_coef"},
    {"value_coef", "vf_coef"},
    {"critic_coef", "vf_coef"},
    {"discount", "gamma"},
    {"lam", "gae_lambda"},
    {"lambda", "gae_lambda"},
    {"tau", "gae_lambda"},
    {"grad_norm", "max_grad_norm"},
    {"kl_target", "target_kl"},
    {"net_arch", "hidden_sizes"},
    {"hidden_size", "hidden_sizes"},
    {"layers", "hidden_sizes"},
    {"time_limit", "max_episode_steps"},
    {"frame_stack", "env.frame_stack"},
    {"num_stack", "env.frame_stack"},
    {"stack_num", "env.frame_stack"},
    {"stack_size", "env.frame_stack"},
    {"frame_stack_of", "env.frame_stack_of"},
    {"frame_padding", "env.frame_padding"},
    {"scale_actions", "env.scale_actions"},
    {"rescale_action", "env.scale_actions"},
};

}  // namespace

std::span<const Alias> Config::aliases() { return kAliases; }

}  // namespace broadloom
