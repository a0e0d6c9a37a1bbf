#include "broadloom/config/simulator.h"

#include <fmt/core.h>

#include "broadloom/config/algorithms.h"
#include "broadloom/config/network_shape.h"
#include "broadloom/config/settings.h"
#include "broadloom/envs/registry.h"

namespace broadloom {

namespace {

// Environments that are all stepped as one cannot rest while others are stepped.
Status check_schedule(const Config& config, const VecEnvTraits& simulator) {
  if (!simulator.whole_batch) return {};
  for (const ShapePhase& phase : config.shape_schedule.phases) {
    if (phase.shape.num_envs == config.most_envs()) continue;
    return invalid(fmt::format(
        "shape_schedule: got {} and {} environments, but the simulator of {} steps all of them at "
        "once; expected the same number in every entry, with other num_steps",
        phase.shape.num_envs, config.most_envs(), config.env_id));
  }
  return {};
}

}  // namespace

Status check_fits(const Config& config, const VecEnv& envs) {
  BROADLOOM_TRY(check_algorithm(config, envs.spec()));
  BROADLOOM_TRY(check_observations(config, envs.spec()));
  return check_simulator(config, envs.traits());
}

Status check_simulator(const Config& config, const VecEnvTraits& simulator) {
  BROADLOOM_TRY(check_schedule(config, simulator));
  if (simulator.has_final_observations || config.truncation_mode != "bootstrap") return {};
  return invalid(fmt::format(
      "truncation_mode: got bootstrap, which needs the last observation of every episode that the "
      "time limit cut off, but the simulator of {} does not hand those out; expected "
      "as_termination, state_value or zero",
      config.env_id));
}

Result<std::unique_ptr<VecEnv>> make_one_env(const Config& config) {
  VecEnvOptions one;
  one.max_episode_steps = config.max_episode_steps;
  one.curriculum = curriculum_options(config);
  return make_vec_env(config.env_id, config.env_options, one);
}

std::vector<std::string> simulator_limits(const VecEnvTraits& simulator) {
  std::vector<std::string> out;
  if (!simulator.deterministic) {
    out.emplace_back(
        "not deterministic: the same settings and seed give another run each time, and rerun "
        "compares by statistics");
  }
  if (!simulator.saves_state) {
    out.emplace_back(
        "does not save its state: a resume begins new episodes, and ends elsewhere than a run that "
        "was never stopped");
  }
  if (!simulator.has_final_observations) {
    out.emplace_back(
        "hands out no final observations: what a truncated episode was still worth is not known");
  }
  if (!simulator.common_bits) {
    out.emplace_back(
        "its bits are those of this kind of processor and of this C library, whose mathematics it "
        "calls");
  }
  return out;
}

}  // namespace broadloom
