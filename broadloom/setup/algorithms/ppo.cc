#include "broadloom/setup/algorithms/entries.h"

#include <fmt/core.h>

#include <memory>

#include "broadloom/env/declared_mirror.h"
#include "broadloom/learn/ppo.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"

namespace broadloom {

std::optional<FallingValue> describe_fall(const Config& config, const ScheduledValue& value) {
  if (schedule_of(config, value).is_constant()) return std::nullopt;
  return FallingValue{value.words, fmt::format("{} = linear", value.key)};
}

std::optional<FallingValue> falling_coefficient(const Config& config) {
  for (const ScheduledValue& value : kScheduledValues) {
    if (auto falls = describe_fall(config, value)) return falls;
  }
  return std::nullopt;
}

namespace {

Status check_mirrored(const Config& config, const EnvSpec& spec) {
  if (!uses_mirror(config)) return {};
  const std::string got = config.mirror_samples ? std::string("mirror_samples: got true")
                                                : "mirror_coef: got " + to_text(config.mirror_coef);
  if (!spec.mirror.exists()) {
    return invalid(
        fmt::format("{}, but {} names no mirror; {}leave it out", got, spec.id,
                    can_be_mirrored(spec) ? "set env.mirror_obs and env.mirror_action, or " : ""));
  }
  if (config.mirror_coef > 0.0 && !network_shape(config, spec).has_log_std()) {
    return invalid(
        fmt::format("mirror_coef: got {}, but this policy is no Gaussian with one deviation per "
                    "number; expected action_distribution = gaussian or squashed and std_form = "
                    "log or scalar. Set mirror_samples = true in its place",
                    config.mirror_coef));
  }
  return check_mirror(spec);
}

}  // namespace

AlgorithmEntry ppo_entry() {
  return {
      .name = "ppo",
      .make = [](const AlgorithmSetup& setup) -> std::unique_ptr<Algorithm> {
        const Config& config = setup.config;
        auto ppo = std::make_unique<Ppo>(
            setup.network, ppo_settings(config), static_cast<int>(config.batch_size()),
            static_cast<int>(config.minibatch_count()), setup.spec.observation_size(),
            setup.spec.action_size(), setup.pool, setup.ranks);
        ppo->set_value_normalizer(setup.value_norm);
        if (uses_mirror(config)) ppo->set_mirror(&setup.spec.mirror);
        return ppo;
      },
      .bytes =
          [](const Config& config, const ActorCritic& network, const EnvSpec& spec, int threads) {
            const std::size_t proximal =
                config.proximal_decay > 0.0 ? network.parameter_count() * sizeof(float) : 0;
            return proximal + Ppo::bytes(network, static_cast<int>(config.largest_minibatch()),
                                         spec.observation_size(), spec.action_size(), threads);
          },
      .learns_sequences = true,
      .check = check_mirrored,
      .falls = falling_coefficient,
      .declare_numbers =
          [](const InfoVisitor& declare) {
            UpdateStats().visit([&](const NumberInfo& info, double) { declare(info); });
          }};
}

}  // namespace broadloom
