#include "broadloom/config/network_shape.h"

#include <fmt/core.h>

namespace broadloom {
namespace {

Activation activation_of(const std::string& name) {
  if (name == "relu") return Activation::kRelu;
  if (name == "elu") return Activation::kElu;
  return Activation::kTanh;
}

}  // namespace

NetworkShape network_shape(const Config& config, const EnvSpec& spec) {
  return {spec.observation_size(),
          spec.action.kind,
          spec.action.size,
          config.hidden_sizes,
          activation_of(config.activation),
          config.shared_encoder,
          config.log_std_init,
          config.precision == "bf16" ? Precision::kBf16 : Precision::kFp32,
          spec.critic_observation.size};
}

Status check_observations(const Config& config, const EnvSpec& spec) {
  if (config.shared_encoder && spec.has_critic_observation()) {
    return invalid(
        fmt::format("shared_encoder = true: the critic of {} reads observations of its own, {}, so "
                    "that there is nothing to share; set shared_encoder = false",
                    spec.id, shape_text(spec.critic_observation)));
  }
  for (const Space* space : {&spec.observation, &spec.critic_observation}) {
    if (!config.norm_obs || space->dtype == Dtype::kF32) continue;
    return invalid(fmt::format(
        "norm_obs = true: observations of {} are uint8, {}, which networks read divided "
        "by {:g} instead of normalised; set norm_obs = false",
        spec.id, shape_text(*space), space->full_scale()));
  }
  return {};
}

}  // namespace broadloom
