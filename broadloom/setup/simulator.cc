#include "broadloom/setup/simulator.h"

#include <fmt/format.h>

#include "broadloom/env/episode_strata.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/instruments/probe_states.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"

namespace broadloom {

namespace {

// A whole-batch simulator cannot step only some of its environments.
Status check_schedule(const Config& config, const VecEnvTraits& simulator) {
  if (!simulator.whole_batch) return {};
  for (const ShapePhase& phase : config.shape_schedule.phases) {
    if (phase.shape.num_envs == config.most_envs()) continue;
    return invalid(fmt::format(
        "shape_schedule: got {} and {} environments, but the simulator of {} steps all of them at "
        "once; expected the same number in every entry; only num_steps may change",
        phase.shape.num_envs, config.most_envs(), config.env_id));
  }
  return {};
}

// Refuses everything that reads all rows of a block without knowing which are transitions.
Status check_fillers(const Config& config, const EnvSpec& spec) {
  const auto refusal = [&](const std::string& reason) {
    return invalid(fmt::format(
        "{}, but after an episode, a step of {} only resets, so its rows are not transitions; use "
        "environments that reset at once (same-step autoreset, or next-step autoreset with a "
        "supported reset_mask)",
        reason, config.env_id));
  };
  if (value_outputs(config) > 1)
    return refusal(
        fmt::format("algorithm: got {}, which adds rewards to every row", config.algorithm));
  if (!config.instruments.empty()) {
    return refusal(fmt::format("instruments read every row of a block ({})",
                               fmt::join(config.instruments, ", ")));
  }
  if (spec.observation.frames > 1 && spec.observation.dtype == Dtype::kU8) {
    return refusal("got stacks of bytes");
  }
  if (config.is_recurrent()) return refusal(fmt::format("recurrent: got {}", config.recurrent));
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    if (config.of_phase(p).num_steps >= 2) continue;
    return refusal("num_steps: got 1, so a block may have no transitions; expected at least 2");
  }
  return {};
}

Status check_levels(const Config& config, const VecEnv& envs) {
  const auto* const strata = capability<EpisodeStrata>(envs);
  if (config.curriculum.empty() || (strata != nullptr && strata->level(0) >= 0)) return {};
  return {
      ErrorKind::kInvalidConfig,
      fmt::format("curriculum: got {}, but these environments were made without a curriculum; give "
                  "them one and implement EpisodeStrata::level(), or remove this key",
                  fmt::join(config.curriculum, ","))};
}

Status check_probe(const Config& config, const VecEnv& envs) {
  if (!instruments_need_probe(config.instruments)) return {};
  bool can = false;
  BROADLOOM_TRY(with_simulator_errors([&] { can = can_probe(envs); }));
  if (can) return {};
  return {ErrorKind::kInvalidConfig,
          fmt::format(
              "instruments: got '{}', which need environments of their own, but these environments "
              "cannot make others; implement EnvMaker::another(), or use only 'gradient'",
              fmt::join(config.instruments, ","))};
}

}  // namespace

Status check_fits(const Config& config, const VecEnv& envs) {
  BROADLOOM_TRY(check_promises(envs));
  BROADLOOM_TRY(check_algorithm(config, envs.spec()));
  BROADLOOM_TRY(check_observations(config, envs.spec()));
  BROADLOOM_TRY(check_actions(config, envs.spec()));
  BROADLOOM_TRY(check_levels(config, envs));
  if (envs.traits().filler_rows) BROADLOOM_TRY(check_fillers(config, envs.spec()));
  BROADLOOM_TRY(check_probe(config, envs));
  return check_simulator(config, envs);
}

Status check_simulator(const Config& config, const VecEnv& envs) {
  const VecEnvTraits simulator = envs.traits();
  BROADLOOM_TRY(check_schedule(config, simulator));
  if (simulator.has_final_observations || config.truncation_mode != "bootstrap") return {};
  const bool is_critics = !envs.spec().plugin.name.empty() && envs.spec().has_critic_observation();
  return invalid(fmt::format(
      "truncation_mode: got bootstrap, which needs the final observation of every truncated "
      "episode, but the simulator of {} does not return it{}; expected as_termination, state_value "
      "or zero",
      config.env_id,
      is_critics ? ", since observe_final() does not cover its critic observation" : ""));
}

Status check_ranks(const VecEnv& envs, int ranks) {
  if (ranks == 1) return {};
  const VecEnvTraits traits = envs.traits();
  const char* why = traits.whole_batch    ? "are stepped as one batch"
                    : !traits.saves_state ? "do not save their state"
                                          : nullptr;
  if (why == nullptr) return {};
  return invalid(fmt::format(
      "got {} ranks, but the environments of {} {}, so ranks cannot share them; train with "
      "one process",
      ranks, envs.spec().id, why));
}

Result<std::unique_ptr<VecEnv>> make_one_env(const Config& config) {
  const VecEnvOptions all = vec_env_options(config);
  VecEnvOptions one;
  one.only_described = true;
  one.max_episode_steps = all.max_episode_steps;
  // A single environment is not staggered, but a simulator that cannot stagger reports its error
  // here.
  one.stagger_starts = all.stagger_starts;
  one.stagger_by = all.stagger_by;
  one.curriculum = all.curriculum;
  return make_vec_env(config.env_id, config.env_options, one);
}

std::vector<std::string> simulator_limits(const VecEnvTraits& simulator, bool can_begin_anew) {
  std::vector<std::string> out;
  if (!simulator.deterministic) {
    out.emplace_back(
        "not deterministic: the same settings and seed give a different run each time, and rerun "
        "compares by statistics");
  }
  if (!simulator.saves_state) {
    out.emplace_back(
        can_begin_anew
            ? "does not save its state: a resume begins new episodes, so its result differs from "
              "that of an uninterrupted run"
            : "neither saves its state nor begins anew (can_begin_anew()): this run cannot be "
              "resumed");
  }
  if (!simulator.has_final_observations) {
    out.emplace_back(
        "returns no final observations: the value of a truncated episode's last state is unknown");
  }
  if (simulator.filler_rows) {
    out.emplace_back(
        "takes a step to begin an episode: these rows are not transitions and are left out of "
        "loss, "
        "advantages, normalisers and episodes; step counts include them");
  }
  if (!simulator.common_bits) {
    out.emplace_back(
        "its bits depend on this kind of processor and this C library, whose mathematics it calls");
  }
  return out;
}

}  // namespace broadloom
