#include "cuda/refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>

#include "broadloom/env/batched_env.h"
#include "broadloom/env/device_steps.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/frame_stack.h"
#include "broadloom/learn/gradient_cut.h"
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
  const bool is_deep = config.encoder == "nature" || config.encoder == "impala";
  if (is_deep && config.precision == "tf32") {
    return refuse(fmt::format("precision = tf32 with encoder = {}", config.encoder),
                  "set precision = fp32");
  }
  if (config.is_recurrent()) return refuse_key("recurrent", config.recurrent, "none");
  const Config usual;
  for (const auto& [key, text, instead] :
       {std::tuple{"proximal_decay", to_text(config.proximal_decay), to_text(usual.proximal_decay)},
        {"sapg_policies", to_text(config.sapg_policies), to_text(usual.sapg_policies)}}) {
    if (text != instead) return refuse_key(key, text, instead);
  }
  if (config.std_form == "sde") {
    return refuse_key("std_form", config.std_form, "log, scalar or state_dependent");
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
  return refuse(got, fmt::format("take at most {} layers, convolutions among them", kMostLayers));
}

// Offsets in the arrays of a gradient are ints. They hold at least a tile of each partial gradient.
Status check_offsets(const DeviceSetup& setup) {
  const DeviceNetwork network = device_network(setup.network);
  std::int64_t most = 0;
  for (int side = 0; side < network.sides(); ++side) {
    const TilePlaces places(network.body(side), kTileRows, TilePlaces::kForwardAndBack);
    most = std::max<std::int64_t>(most, places.size);
  }
  for (std::size_t p = 0; p < setup.config.phase_count(); ++p) {
    const auto samples = setup.config.of_phase(p).largest_minibatch();
    const int partials =
        partial_gradient_count(static_cast<int>(samples), setup.network.parameter_count());
    if (most * partials <= std::numeric_limits<int>::max()) continue;
    return refuse(fmt::format("minibatches of {} samples, for a network with {} numbers a sample",
                              samples, most / kTileRows),
                  "set a larger num_minibatches");
  }
  return {};
}

Status check_sizes(const DeviceSetup& setup) {
  BROADLOOM_TRY(check_size(setup.network, "hidden_sizes"));
  BROADLOOM_TRY(check_offsets(setup));
  if (setup.config.algorithm != "ppo_rnd") return {};
  return check_size(ActorCritic(rnd_shape(setup.config, setup.envs.spec())), "rnd_hidden_sizes");
}

// For environments without kernels.
Status check_simulator(const DeviceSetup& setup) {
  const EnvSpec& spec = setup.envs.spec();
  const auto env = [&](const char* what) {
    return fmt::format("env_id = {}, {}", setup.config.env_id, what);
  };
  if (spec.action.has_choices() && spec.action.has_box()) {
    return refuse(env("whose actions are choices and other numbers"),
                  "take a task with Discrete, MultiDiscrete or Box ones");
  }
  const VecEnvTraits traits = setup.envs.traits();
  if (traits.filler_rows) {
    return refuse(env("whose resets take a step"), "use autoreset_mode = SAME_STEP");
  }
  if (!traits.has_final_observations) {
    return refuse(env("which gives no last observations"), "return them");
  }
  return {};
}

Status check_groups(const DeviceSetup& setup) {
  for (const Space* seen :
       {&setup.envs.spec().observation, &setup.envs.spec().critic_observation}) {
    for (const ObservationGroup& group : seen->groups) {
      if (group.dtype == Dtype::kF32) continue;
      return refuse(fmt::format("observations in groups, {}, of which '{}' is not float32",
                                shape_text(*seen), group.name),
                    "take an environment with float32 groups alone");
    }
  }
  if (!reads_groups(setup.network)) return {};
  return refuse("groups of observations with layers of their own, or for one side alone",
                "remove group_encoders, policy_groups and critic_groups");
}

Status check_environments(const DeviceSetup& setup) {
  BROADLOOM_TRY(check_groups(setup));
  const Space& critic = setup.envs.spec().critic_observation;
  if (critic.dtype == Dtype::kU8 && critic.frames > 1) {
    return refuse("stacks of images that the critic alone observes",
                  "show the critic single images");
  }
  return stepped_by(setup.envs) == SteppedBy::kKernels ? Status() : check_simulator(setup);
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

namespace {

bool has_kernels(const VecEnv& envs) {
  const Undisturbed plain = undisturbed(unstacked(envs));
  if (!plain.disturbance.obs_noise_of.empty() || plain.disturbance.delays_observations() ||
      envs.spec().has_critic_observation() || envs.spec().action.masked) {
    return false;
  }
#define BROADLOOM_IS_ONE(Env) \
  if (dynamic_cast<const BatchedEnv<Env>*>(&plain.envs) != nullptr) return true;
  BROADLOOM_EACH_ENV(BROADLOOM_IS_ONE)
#undef BROADLOOM_IS_ONE
  return false;
}

}  // namespace

SteppedBy stepped_by(VecEnv& envs) {
  if (has_kernels(envs)) return SteppedBy::kKernels;
  return device_steps(envs) != nullptr ? SteppedBy::kSimulator : SteppedBy::kHost;
}

}  // namespace broadloom::cuda
