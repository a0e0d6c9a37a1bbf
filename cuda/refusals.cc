#include "cuda/refusals.h"

#include <fmt/format.h>

#include <string>
#include <tuple>

#include "broadloom/env/batched_env.h"
#include "broadloom/env/block_player.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/frame_stack.h"
#include "broadloom/setup/network_shape.h"
#include "cuda/env/list.h"
#include "cuda/tile/network.h"

namespace broadloom::cuda {
namespace {

Status refuse(const std::string& got, const std::string& instead) {
  return invalid(fmt::format(
      "device = cuda: got {}, which kernels cannot do yet; {}, or set device = cpu", got, instead));
}

Status refuse_key(const std::string& key, const std::string& got, const std::string& instead) {
  return refuse(fmt::format("{} = {}", key, got), fmt::format("set {} = {}", key, instead));
}

Status check_learning(const Config& config) {
  for (const char* known : {"ppo", "ppo_rnd", "pqn"}) {
    if (config.algorithm == known) return {};
  }
  return refuse_key("algorithm", config.algorithm, "ppo, ppo_rnd or pqn");
}

Status check_network(const Config& config) {
  if (config.encoder != "mlp" && config.encoder != "minatar") {
    return refuse_key("encoder", config.encoder, "minatar or mlp");
  }
  if (config.is_recurrent()) return refuse_key("recurrent", config.recurrent, "none");
  const Config usual;
  for (const auto& [key, text, instead] :
       {std::tuple{"clip_grads", config.clip_grads, usual.clip_grads},
        {"shuffle", config.shuffle, usual.shuffle},
        {"kl_estimate", config.kl_estimate, usual.kl_estimate},
        {"adapt_every", config.adapt_every, usual.adapt_every},
        {"clip_vloss_rule", config.clip_vloss_rule, usual.clip_vloss_rule},
        {"std_form", config.std_form, usual.std_form},
        {"norm_value", config.norm_value, usual.norm_value},
        {"proximal_decay", to_text(config.proximal_decay), to_text(usual.proximal_decay)},
        {"sapg_policies", to_text(config.sapg_policies), to_text(usual.sapg_policies)},
        {"adam_beta1", to_text(config.adam_beta1), to_text(usual.adam_beta1)},
        {"adam_beta2", to_text(config.adam_beta2), to_text(usual.adam_beta2)},
        {"action_distribution", config.action_distribution, usual.action_distribution},
        {"clip_vloss_coef", to_text(config.clip_vloss_coef), to_text(usual.clip_vloss_coef)},
        {"bounds_coef", to_text(config.bounds_coef), to_text(usual.bounds_coef)},
        {"std_min", to_text(config.std_min), to_text(usual.std_min)},
        {"std_max", to_text(config.std_max), to_text(usual.std_max)}}) {
    if (text != instead) return refuse_key(key, text, instead);
  }
  return {};
}

// After the other checks, a network that does not fit has too large bodies.
Status check_size(const ActorCritic& network, const std::string& key) {
  if (fits_kernels(network)) return {};
  const std::string got = fmt::format("{} = {}", key, fmt::join(network.shape().hidden_sizes, ","));
  if (network.parameter_count() > kMostParameters) {
    return refuse(fmt::format("{}, which make {} parameters", got, network.parameter_count()),
                  fmt::format("take narrower layers, of at most {} together", kMostParameters));
  }
  return refuse(got, fmt::format("take at most {} layers, a convolution among them", kMostLayers));
}

Status check_sizes(const DeviceSetup& setup) {
  BROADLOOM_TRY(check_size(setup.network, "hidden_sizes"));
  if (setup.config.algorithm != "ppo_rnd") return {};
  return check_size(ActorCritic(rnd_shape(setup.config, setup.envs.spec())), "rnd_hidden_sizes");
}

// For environments that the host steps.
Status check_stepped_by_host(const DeviceSetup& setup) {
  const EnvSpec& spec = setup.envs.spec();
  const auto env = [&](const char* what) {
    return fmt::format("env_id = {}, {}", setup.config.env_id, what);
  };
  if (setup.network.shape().critic_observation_size > 0) {
    return refuse(env("whose critic has observations of its own"), "take another task");
  }
  if (spec.action.kind != SpaceKind::kDiscrete && spec.action.kind != SpaceKind::kBox) {
    return refuse(env("whose actions are several choices"),
                  "take a task with Discrete or Box ones");
  }
  if (spec.observation.frames > 1 && spec.observation.dtype == Dtype::kU8) {
    return refuse(env("whose frames are stacked"), "set env.frame_stack = 1");
  }
  const VecEnvTraits traits = setup.envs.traits();
  if (traits.filler_rows) {
    return refuse(env("whose resets take a step"), "use autoreset_mode = SAME_STEP");
  }
  if (!traits.has_final_observations) {
    return refuse(env("which gives no last observations"), "return them");
  }
  if (block_player(setup.envs) != nullptr) {
    return refuse(env("which plays whole blocks by itself"), "take another task");
  }
  return {};
}

Status check_environments(const DeviceSetup& setup) {
  if (setup.envs.spec().action.masked) {
    return refuse(fmt::format("env_id = {}, which has action masks", setup.config.env_id),
                  "take an environment without them");
  }
  if (!setup.envs.spec().observation.groups.empty()) {
    return refuse(
        fmt::format("observations in groups, {}", shape_text(setup.envs.spec().observation)),
        "take an environment with one array");
  }
  return has_kernels(setup.envs) ? Status() : check_stepped_by_host(setup);
}

}  // namespace

Status check_device(const DeviceSetup& setup) {
  BROADLOOM_TRY(check_learning(setup.config));
  BROADLOOM_TRY(check_network(setup.config));
  BROADLOOM_TRY(check_environments(setup));
  return check_sizes(setup);
}

Status check_device_memory(const DeviceSetup& setup, std::size_t bytes, std::size_t free) {
  if (bytes <= free) return {};
  const Config& config = setup.config;
  const bool changes = !config.shape_schedule.empty();
  return invalid(fmt::format(
      "device = cuda: {} take {:.1f} MB on the device, of which {:.1f} MB are free; make {} "
      "smaller, or end what else runs there",
      changes ? fmt::format("blocks of shape_schedule = {}", to_text(config.shape_schedule))
              : fmt::format("{} environments and {} steps", config.num_envs, config.num_steps),
      static_cast<double>(bytes) * 1e-6, static_cast<double>(free) * 1e-6,
      changes ? "its shapes" : "num_envs or num_steps"));
}

Status check_tensor_cores(const DeviceSetup& setup, bool are_there, bool fits) {
  if (setup.config.precision != "tf32" || (are_there && fits)) return {};
  constexpr const char* kInstead = "; set precision = fp32";
  if (!are_there) {
    return invalid(fmt::format(
        "precision: got 'tf32', which takes a GPU of compute capability 8.0 or later, and kernels "
        "compiled for one (-DBROADLOOM_CUDA_ARCHITECTURES: docs/gpu.md){}",
        kInstead));
  }
  return invalid(fmt::format(
      "precision: got 'tf32', for which eight rows of a network with hidden_sizes = {} "
      "and observations of {} numbers take more shared memory than a block of this GPU has{}, or "
      "take narrower layers",
      fmt::join(setup.config.hidden_sizes, ","), setup.network.shape().observation_size, kInstead));
}

bool has_kernels(const VecEnv& envs) {
  const Undisturbed plain = undisturbed(unstacked(envs));
  if (!plain.disturbance.obs_noise_of.empty() || plain.disturbance.delays_observations()) {
    return false;
  }
#define BROADLOOM_IS_ONE(Env) \
  if (dynamic_cast<const BatchedEnv<Env>*>(&plain.envs) != nullptr) return true;
  BROADLOOM_EACH_ENV(BROADLOOM_IS_ONE)
#undef BROADLOOM_IS_ONE
  return false;
}

}  // namespace broadloom::cuda
