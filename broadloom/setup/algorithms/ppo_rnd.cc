#include "broadloom/setup/algorithms/entries.h"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/number_text.h"
#include "broadloom/learn/ppo_rnd.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"

namespace broadloom {
namespace {

// On pixels: CleanRL's settings (ppo_rnd_envpool.py) except the budget. Else PPO's, with blocks
// wide enough to explore, the learning rate of experiments/rnd, and normalised numbers.
void ppo_rnd_defaults(const EnvSpec& spec, Config& config) {
  const bool numbers =
      spec.observation.kind == SpaceKind::kBox && spec.observation.dtype == Dtype::kF32;
  config.norm_obs = config.norm_reward = numbers;
  config.num_envs = 32;
  config.num_steps = 128;
  config.num_minibatches = 4;
  config.update_epochs = 4;
  config.learning_rate = 1e-3;
  const std::vector<int> extents = spec.observation.extents();
  if (extents.size() != 3) return;
  const bool large =
      fits(body_plan(Encoder::kNature, Normalisation::kNone, {}), extents[0], extents[1]);
  config.total_timesteps = 10000000;
  config.num_envs = 128;
  config.learning_rate = 1e-4;
  config.gamma = 0.999;
  config.clip_coef = 0.1;
  config.ent_coef = 0.001;
  config.encoder = large ? "nature" : "minatar";
  config.hidden_sizes = config.rnd_hidden_sizes =
      published_hidden_sizes(encoder_of(config.encoder));
  config.rnd_outputs = config.rnd_hidden_sizes.back();
  config.activation = "relu";
}

CompanionSize rnd_predictor(const Config& config, const EnvSpec& spec) {
  const RndSettings rnd = ppo_rnd_settings(config, spec).rnd;
  return {.parameters = ActorCritic(rnd.shape).parameter_count(),
          .normalised = rnd.own_statistics ? rnd.shape.observation_size : 0};
}

Status check_ppo_rnd(const Config& config, const EnvSpec&) {
  if (!config.shape_schedule.empty()) {
    return invalid(
        "shape_schedule: algorithm = ppo_rnd carries intrinsic returns of every environment from "
        "block to block, and cannot change the block's shape yet; remove this key");
  }
  return {};
}

std::string random_start(const Config& config) {
  if (config.num_iterations_obs_norm_init == 0) return {};
  return fmt::format(
      "Observation statistics begin with {} random steps in separate environments, which "
      "global_step does not count",
      with_commas(config.num_iterations_obs_norm_init * config.batch_size()));
}

}  // namespace

AlgorithmEntry ppo_rnd_entry() {
  return {
      .name = "ppo_rnd",
      .make = [](const AlgorithmSetup& setup) -> std::unique_ptr<Algorithm> {
        const Config& config = setup.config;
        return std::make_unique<PpoRnd>(
            setup.network, ppo_rnd_settings(config, setup.spec), config.num_envs,
            static_cast<int>(config.batch_size()), static_cast<int>(config.minibatch_count()),
            setup.spec.observation_size(), setup.spec.action_size(), setup.pool, setup.ranks);
      },
      .bytes =
          [](const Config& config, const ActorCritic& network, const EnvSpec& spec, int threads) {
            return PpoRnd::bytes(network, ppo_rnd_settings(config, spec), config.num_envs,
                                 static_cast<int>(config.batch_size()),
                                 static_cast<int>(config.largest_minibatch()),
                                 spec.observation_size(), spec.action_size(), threads);
          },
      .set_defaults = ppo_rnd_defaults,
      .value_outputs = 2,
      .keys_of_size = "hidden_sizes, rnd_hidden_sizes, rnd_outputs, num_envs or num_steps",
      .companion = rnd_predictor,
      .check = check_ppo_rnd,
      .besides = random_start,
      .falls = falling_coefficient,
      .streams = {{"rnd_target", Purpose::kRndTarget},
                  {"rnd_predictor", Purpose::kRndPredictor},
                  {"rnd_mask", Purpose::kRndMask},
                  {"rnd_start", Purpose::kRndStart, true}},
      .declare_numbers =
          [](const InfoVisitor& declare) {
            UpdateStats().visit([&](const NumberInfo& info, double) { declare(info); });
            RndStats().visit([&](const NumberInfo& info, double) { declare(info); });
          }};
}

}  // namespace broadloom
