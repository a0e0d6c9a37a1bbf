// Kernels that begin, step and observe N environments of one type. The bits and the terms are those
// of BatchedEnv (env/batched_env.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "broadloom/core/random.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/one_hot.h"
#include "broadloom/env/outcome.h"
#include "cuda/env/state.h"
#include "cuda/sides/kernel.h"

namespace broadloom::cuda {

template <class Env>
using EnvObserved = env_detail::Observed<Env>;

// Arrays of a step of all environments: [N, ...], as in StepRows.
template <class Env>
struct StepArrays {
  float* actions;                  // [N, A]; overwritten by the disturbed action
  EnvObserved<Env>* observations;  // [N, D]
  float* rewards;
  std::uint8_t *terminated, *truncated;
  EnvObserved<Env>* final_observations;  // [N, D] of ended episodes
  EpisodeEnd* ends = nullptr;            // [N] outcomes, or null
};

// Env::observe() writes a Discrete observation as an index to out[0], which is then expanded to
// one-hot in place. draw: the stream for the noise of environment n.
template <class Env>
BROADLOOM_HD void observe_state(const EnvSetup<Env>& setup, const typename Env::Params& constants,
                                const typename Env::State& state, int n, DisturbanceDraw draw,
                                EnvObserved<Env>* out) {
  using Observed = EnvObserved<Env>;
  Env::observe(constants, state, out);
  if constexpr (std::is_same_v<Observed, float>) setup.disturber.add_noise(n, draw, out);
  if (!setup.is_one_hot) return;  // one-hot observations have no noise
  if constexpr (std::is_same_v<Observed, float>) make_one_hot(out, setup.observation_size);
}

// Copies the members that one episode passes to the next.
template <class Env>
BROADLOOM_HD void keep_members(const typename Env::State& last, typename Env::State& state) {
  if constexpr (requires { Env::kept; }) {
    constexpr auto kKept = Env::kept;  // a copy, because the device has no host statics
    std::apply([&](auto... member) { ((state.*member = last.*member), ...); }, kKept);
  }
}

template <class Env>
BROADLOOM_HD void start_episode(const EnvSetup<Env>& setup, const EnvArrays& arrays, int n,
                                const typename Env::State& last, std::int64_t episode) {
  draw_constants(setup, arrays, n, episode);
  Random random(setup.seed, setup.reset, arrays.lanes[n], static_cast<std::uint64_t>(episode));
  typename Env::State state{};
  keep_members<Env>(last, state);
  Env::reset(constants_of(setup, arrays, n), state, random);
  store_state<Env>(arrays, setup.count, n, state);
  arrays.episode[n] = episode;
  arrays.episode_step[n] = 0;
}

// Puts every environment at the start of its first episode. All these kernels use one thread per
// environment.
template <class Env>
struct BeginKernel {
  EnvSetup<Env> setup;
  EnvArrays arrays;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int n = block.index() * block.threads() + block.thread();
    if (n >= setup.count) return;
    arrays.total_step[n] = 0;
    start_episode(setup, arrays, n, typename Env::State{}, 0);
  }
};

// Records the end of an episode of environment n in its last state.
template <class Env>
BROADLOOM_HD void note_end(const EnvSetup<Env>& setup, const EnvArrays& arrays,
                           const typename Env::Params& constants, const typename Env::State& last,
                           bool terminated, int n, EpisodeEnd* out) {
  if (out == nullptr && arrays.standings == nullptr) return;
  const int stratum = arrays.stratum == nullptr ? -1 : arrays.stratum[n];
  const EpisodeEnd end =
      Outcome<Env>::episode_end(constants, last, terminated, !terminated, stratum);
  if (out != nullptr) out[n] = end;
  if (arrays.standings == nullptr) return;
  arrays.standings[n] = standing_after(setup.levels, arrays.standings[n], end.success == 1,
                                       Random(setup.seed, Purpose::kCurriculum, arrays.lanes[n],
                                              static_cast<std::uint64_t>(arrays.episode[n])));
}

// Writes environment n's current observation.
template <class Env>
BROADLOOM_HD void observe_env(const EnvSetup<Env>& setup, const EnvArrays& arrays, int n,
                              EnvObserved<Env>* out) {
  observe_state<Env>(setup, constants_of(setup, arrays, n), load_state<Env>(arrays, setup.count, n),
                     n, DisturbanceDraw::kNoise, out);
}

// One step of environment n. An episode that ends leaves its final observation, and the next one
// begins.
template <class Env>
BROADLOOM_HD void step_env(const EnvSetup<Env>& setup, const EnvArrays& arrays,
                           const StepArrays<Env>& rows, int n) {
  const Disturber& disturber = setup.disturber;
  const std::size_t row = static_cast<std::size_t>(n);
  float* const action = rows.actions + row * setup.action_size;
  disturber.take_action(n, action);
  typename Env::State state = load_state<Env>(arrays, setup.count, n);
  Random random(setup.seed, setup.step, arrays.lanes[n],
                static_cast<std::uint64_t>(arrays.total_step[n]));
  const Constants<Env> constants = constants_of(setup, arrays, n);
  const StepResult result = Env::step(constants, state, action, random);
  arrays.total_step[n] += 1;
  arrays.episode_step[n] += 1;
  const bool cut = !result.terminated && setup.limit > 0 && arrays.episode_step[n] >= setup.limit;
  const bool has_ended = result.terminated || cut;
  rows.rewards[n] = static_cast<float>(result.reward);
  rows.terminated[n] = result.terminated ? 1 : 0;
  rows.truncated[n] = cut ? 1 : 0;
  if (disturber.arrays.steps != nullptr) disturber.take_step(n, true, has_ended);
  if (has_ended) {
    observe_state<Env>(setup, constants, state, n, DisturbanceDraw::kFinalNoise,
                       rows.final_observations + row * setup.observation_size);
    note_end(setup, arrays, constants, state, !cut, n, rows.ends);
    start_episode(setup, arrays, n, state, arrays.episode[n] + 1);
  } else {
    store_state<Env>(arrays, setup.count, n, state);
  }
  observe_env(setup, arrays, n, rows.observations + row * setup.observation_size);
}

// Writes the current observations of all environments.
template <class Env>
struct ObserveKernel {
  EnvSetup<Env> setup;
  EnvArrays arrays;
  EnvObserved<Env>* observations;  // [N, D]

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int n = block.index() * block.threads() + block.thread();
    if (n >= setup.count) return;
    observe_env(setup, arrays, n,
                observations + static_cast<std::size_t>(n) * setup.observation_size);
  }
};

}  // namespace broadloom::cuda
