#include "broadloom/setup/simulator.h"

#include <fmt/format.h>

#include "broadloom/env/episode_strata.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/instruments/probe_states.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"

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

// What reads every row of a block does not know which are transitions.
Status check_fillers(const Config& config, const EnvSpec& spec) {
  const auto refused = [&](const std::string& what) {
    return invalid(fmt::format(
        "{}, but where an episode of {} has ended, a step does nothing but reset: rows that are no "
        "transitions; give it environments that are reset at once (same-step autoreset, or "
        "next-step with a reset_mask that is honoured)",
        what, config.env_id));
  };
  if (value_outputs(config) > 1)
    return refused(fmt::format("algorithm: got {}, which rewards every row", config.algorithm));
  if (!config.instruments.empty()) {
    return refused(fmt::format("instruments read every row of a block ({})",
                               fmt::join(config.instruments, ", ")));
  }
  if (spec.observation.frames > 1) return refused("got stacks of frames");
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    if (config.of_phase(p).num_steps >= 2) continue;
    return refused("num_steps: got 1, of which all may be such; expected at least 2");
  }
  return {};
}

Status check_levels(const Config& config, const VecEnv& envs) {
  const auto* const strata = capability<EpisodeStrata>(envs);
  if (config.curriculum.empty() || (strata != nullptr && strata->level(0) >= 0)) return {};
  return {ErrorKind::kInvalidConfig,
          fmt::format("curriculum: got {}, but these environments were made without one; give them "
                      "one and implement EpisodeStrata::level(), or leave it out",
                      fmt::join(config.curriculum, ","))};
}

Status check_probe(const Config& config, const VecEnv& envs) {
  if (!instruments_need_probe(config.instruments) || can_probe(envs)) return {};
  return {
      ErrorKind::kInvalidConfig,
      fmt::format("instruments: got '{}', of which some look at states of environments that they "
                  "make themselves, but these environments cannot make more of their kind; "
                  "implement EnvMaker::another(), or measure 'gradient' alone",
                  fmt::join(config.instruments, ","))};
}

}  // namespace

Status check_fits(const Config& config, const VecEnv& envs) {
  BROADLOOM_TRY(check_algorithm(config, envs.spec()));
  BROADLOOM_TRY(check_observations(config, envs.spec()));
  BROADLOOM_TRY(check_levels(config, envs));
  if (envs.traits().filler_rows) BROADLOOM_TRY(check_fillers(config, envs.spec()));
  BROADLOOM_TRY(check_probe(config, envs));
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

Status check_ranks(const VecEnv& envs, int ranks) {
  if (ranks == 1) return {};
  const VecEnvTraits traits = envs.traits();
  const char* why = traits.whole_batch    ? "are stepped as one"
                    : !traits.saves_state ? "do not save their state"
                                          : nullptr;
  if (why == nullptr) return {};
  return invalid(
      fmt::format("got {} ranks, but the environments of {} {}, so that no rank can step some of "
                  "them for the others; train it with one process",
                  ranks, envs.spec().id, why));
}

Result<std::unique_ptr<VecEnv>> make_one_env(const Config& config) {
  const VecEnvOptions all = vec_env_options(config);
  VecEnvOptions one;
  one.only_described = true;
  one.max_episode_steps = all.max_episode_steps;
  // One alone begins at its start whatever they say; simulators that cannot stagger say so.
  one.stagger_starts = all.stagger_starts;
  one.stagger_by = all.stagger_by;
  one.curriculum = all.curriculum;
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
  if (simulator.filler_rows) {
    out.emplace_back(
        "takes a step to begin an episode: such rows are no transitions, and no part of loss, "
        "advantages, normalisers or episodes; steps are counted with them");
  }
  if (!simulator.common_bits) {
    out.emplace_back(
        "its bits are those of this kind of processor and of this C library, whose mathematics it "
        "calls");
  }
  return out;
}

}  // namespace broadloom
