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
          config.precision == "bf16" ? Precision::kBf16 : Precision::kFp32};
}

std::string shape_text(const Space& space) {
  return fmt::format("{}({})", space.kind == SpaceKind::kDiscrete ? "Discrete" : "Box", space.size);
}

bool same_shape(const Space& a, const Space& b) { return a.kind == b.kind && a.size == b.size; }

}  // namespace broadloom
