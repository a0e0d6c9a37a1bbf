#include "broadloom/setup/algorithms/entries.h"

#include <fmt/core.h>

#include <memory>
#include <vector>

#include "broadloom/learn/pqn.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"

namespace broadloom {
namespace {

// purejaxql's settings (config/alg/*.yaml): MinAtar's for pixels, CartPole's for everything else.
void pqn_defaults(const EnvSpec& spec, Config& config) {
  const std::vector<int> extents = spec.observation.extents();
  const bool pixels = extents.size() == 3;
  const bool large =
      pixels && fits(body_plan(Encoder::kNature, Normalisation::kNone, {}), extents[0], extents[1]);
  config.total_timesteps = pixels ? 10000000 : 500000;
  config.num_envs = pixels ? 128 : 32;
  config.num_steps = pixels ? 32 : 64;
  config.update_epochs = pixels ? 2 : 4;
  config.num_minibatches = pixels ? 32 : 16;
  config.learning_rate = pixels ? 5e-4 : 1e-4;
  config.eps_finish = pixels ? 0.05 : 0.2;
  config.eps_decay = pixels ? 0.1 : 0.2;
  config.gae_lambda = pixels ? 0.65 : 0.95;
  config.encoder = large ? "nature" : pixels ? "minatar" : "mlp";
  config.hidden_sizes =
      pixels ? published_hidden_sizes(encoder_of(config.encoder)) : std::vector<int>{256, 256};
  config.layer_norm = "channels";
  config.activation = "relu";
  config.vf_coef = 1.0;
  config.max_grad_norm = 10.0;
  config.adam_eps = 1e-8;
}

std::optional<FallingValue> falling_epsilon(const Config& config) {
  if (config.eps_start == config.eps_finish) return std::nullopt;
  return FallingValue{"share of random actions",
                      fmt::format("eps_start = {}, eps_finish = {}, eps_decay = {}",
                                  config.eps_start, config.eps_finish, config.eps_decay)};
}

Status check_pqn(const Config& config, const EnvSpec& spec) {
  if (spec.action.kind != SpaceKind::kDiscrete) {
    return invalid(
        fmt::format("algorithm = pqn: actions of {} are {}, expected Discrete; use algorithm = ppo",
                    spec.id, shape_text(spec.action)));
  }
  if (spec.action.masked) {
    return invalid(
        fmt::format("algorithm = pqn: {} has action masks, which pqn does not read; use algorithm "
                    "= ppo",
                    spec.id));
  }
  if (config.lr_schedule == "adaptive" || config.target_kl > 0.0) {
    return invalid(
        "algorithm = pqn: lr_schedule = adaptive and target_kl need the KL of a policy, which pqn "
        "does not have; set lr_schedule = linear or constant, and target_kl = 0");
  }
  if (config.truncation_mode == "zero") {
    return invalid(
        "truncation_mode = zero: algorithm = pqn needs a target for every action value, and a TD "
        "error of 0 gives none; set bootstrap, as_termination or state_value");
  }
  return {};
}

}  // namespace

AlgorithmEntry pqn_entry() {
  return {
      .name = "pqn",
      .make = [](const AlgorithmSetup& setup) -> std::unique_ptr<Algorithm> {
        const Config& config = setup.config;
        return std::make_unique<Pqn>(setup.network, pqn_settings(config),
                                     static_cast<int>(config.batch_size()),
                                     static_cast<int>(config.minibatch_count()),
                                     setup.spec.observation_size(), setup.pool, setup.ranks);
      },
      .make_actor = [](const Config& config, const ActorCritic& network) -> std::unique_ptr<Actor> {
        return std::make_unique<EpsilonGreedy>(network.shape().action_outputs,
                                               pqn_settings(config).epsilon);
      },
      .bytes =
          [](const Config& config, const ActorCritic& network, const EnvSpec& spec, int threads) {
            return Pqn::bytes(network, static_cast<int>(config.largest_minibatch()),
                              spec.observation_size(), threads);
          },
      .set_defaults = pqn_defaults,
      .learns_action_values = true,
      .learns_sequences = true,
      .check = check_pqn,
      .falls = falling_epsilon,
      .declare_numbers =
          [](const InfoVisitor& declare) {
            PqnStats().visit([&](const NumberInfo& info, double) { declare(info); });
          }};
}

}  // namespace broadloom
