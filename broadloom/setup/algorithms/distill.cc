#include "broadloom/setup/algorithms/entries.h"

#include <fmt/core.h>

#include <memory>

#include "broadloom/learn/distill.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"

namespace broadloom {
namespace {

// RSL-RL's (rsl-rl-lib 5.5.1, Distillation). Blocks are long enough for several gradient steps, and
// the student draws its actions near its means. It learns from no reward.
void distill_defaults(const EnvSpec&, Config& config) {
  config.num_envs = 16;
  config.num_steps = 120;
  config.learning_rate = 1e-3;
  config.lr_schedule = "constant";
  config.update_epochs = 1;
  config.max_grad_norm = 0.0;
  config.adam_eps = 1e-8;
  config.log_std_init = -2.0;
  config.norm_reward = false;
}

Status check_distill(const Config& config, const EnvSpec& spec) {
  if (config.lr_schedule == "adaptive") {
    return invalid(
        "lr_schedule: got adaptive with algorithm = distill, which has no KL to follow; set "
        "constant or linear");
  }
  const bool is_gaussian =
      config.action_distribution == "gaussian" && network_shape(config, spec).has_log_std();
  if (spec.action.has_box() && !is_gaussian) {
    return invalid(fmt::format(
        "got action_distribution = {} and std_form = {} with algorithm = distill, which compares "
        "mean actions; expected gaussian, and log or scalar",
        config.action_distribution, config.std_form));
  }
  return {};
}

}  // namespace

AlgorithmEntry distill_entry() {
  return {
      .name = "distill",
      .make = [](const AlgorithmSetup& setup) -> std::unique_ptr<Algorithm> {
        const Config& config = setup.config;
        return std::make_unique<Distill>(
            setup.network, distill_settings(config), static_cast<int>(config.batch_size()),
            static_cast<int>(config.minibatch_count()), setup.spec.observation_size(),
            setup.spec.action_size(), setup.pool, setup.ranks);
      },
      .bytes =
          [](const Config& config, const ActorCritic& network, const EnvSpec& spec, int threads) {
            return Distill::bytes(network, static_cast<int>(config.largest_minibatch()),
                                  spec.observation_size(), spec.action_size(), threads);
          },
      .set_defaults = distill_defaults,
      .learns_sequences = true,
      .learns_in_order = true,
      .has_teacher = true,
      .check = check_distill,
      .declare_numbers =
          [](const InfoVisitor& declare) {
            DistillStats().visit([&](const NumberInfo& info, double) { declare(info); });
          }};
}

}  // namespace broadloom
