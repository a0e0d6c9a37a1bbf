#include "broadloom/setup/algorithms/entries.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>

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

// Rules that a table of keys cannot state.
Status check_sapg(const Config& config, const EnvSpec& spec) {
  const int policies = config.sapg_policies;
  if (policies == 1) return {};
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    const int num_envs = config.of_phase(p).num_envs;
    if (num_envs % policies == 0) continue;
    return invalid(fmt::format(
        "sapg_policies: got {} with {} environments; expected a divisor of num_envs, so that each "
        "policy acts in as many. Change num_envs or sapg_policies",
        policies, num_envs));
  }
  if (config.sapg_followers >= policies) {
    return invalid(fmt::format(
        "sapg_followers: got {} with sapg_policies = {}, one of which leads; expected at most {}",
        config.sapg_followers, policies, policies - 1));
  }
  if (config.mirror_coef > 0.0) {
    return invalid(
        fmt::format("sapg_policies: got {} with mirror_coef = {}, whose loss knows one policy; set "
                    "mirror_samples = true in its place",
                    policies, to_text(config.mirror_coef)));
  }
  if (spec.action.has_box() && (config.std_form == "scalar" || config.std_form == "sde")) {
    return invalid(fmt::format(
        "sapg_policies: got {} with std_form = {}, but each policy has deviations of its own; "
        "expected std_form = log or state_dependent",
        policies, config.std_form));
  }
  return {};
}

// Bytes of the largest phase.
std::size_t relabelled_bytes(const Config& config, const ActorCritic& network, const EnvSpec& spec,
                             int threads) {
  if (config.relabelled_followers() == 0) return 0;
  std::size_t most = 0;
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    const Config now = config.of_phase(p);
    const int limit = config.max_episode_steps > 0 ? config.max_episode_steps
                                                   : std::max(1, spec.max_episode_steps);
    const BlockSizes sizes{.T = now.num_steps,
                           .N = now.num_envs,
                           .S = now.num_steps / limit + 1,
                           .policies = now.sapg_policies};
    most = std::max(most, Relabelled::bytes(network, ppo_settings(now).relabel, sizes, threads));
  }
  return most;
}

}  // namespace

AlgorithmEntry ppo_entry() {
  return {
      .name = "ppo",
      .make = [](const AlgorithmSetup& setup) -> std::unique_ptr<Algorithm> {
        const Config& config = setup.config;
        auto ppo = std::make_unique<Ppo>(
            setup.network, ppo_settings(config), static_cast<int>(config.learnt_samples()),
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
            return proximal + relabelled_bytes(config, network, spec, threads) +
                   Ppo::bytes(network, static_cast<int>(config.largest_minibatch()),
                              spec.observation_size(), spec.action_size(), threads);
          },
      .learns_sequences = true,
      .check =
          [](const Config& config, const EnvSpec& spec) {
            BROADLOOM_TRY(check_sapg(config, spec));
            return check_mirrored(config, spec);
          },
      .falls = falling_coefficient,
      .streams = {{"followers", Purpose::kFollowers}},
      .declare_numbers =
          [](const InfoVisitor& declare) {
            UpdateStats().visit([&](const NumberInfo& info, double) { declare(info); });
          }};
}

}  // namespace broadloom
