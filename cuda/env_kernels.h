// N environments of one type on the device: begun, stepped and looked at with the bits of
// BatchedEnv, whose words these are (env/batched_env.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>

#include "broadloom/core/random.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/outcome.h"
#include "cuda/kernel.h"

namespace broadloom::cuda {

// What all environments of a batch have in common.
template <class Env>
struct EnvSetup {
  typename Env::Params params;
  std::uint64_t seed;
  Purpose reset, step;  // streams that episodes begin and go on from
  int count;            // N
  std::int64_t limit;   // steps of an episode, 0: none
  int observation_size, action_size;
  bool is_one_hot;  // of a Discrete observation
};

// Where they are, in the device's memory. A state is stored as its words of 32 bits, word w of
// environment n at [w * N + n], so that a warp reads neighbours.
struct EnvArrays {
  std::uint32_t* states;       // [state_words<Env>(), N]
  const std::uint32_t* lanes;  // [N] of the random streams
  std::int64_t* episode;       // [N] number of the present episode, from 0
  std::int64_t* episode_step;  // [N]
  std::int64_t* total_step;    // [N]
};

template <class Env>
constexpr int state_words() {
  return static_cast<int>((sizeof(typename Env::State) + 3) / 4);
}

template <class Env>
using EnvObserved = env_detail::Observed<Env>;

// What a step of all reads and writes: [N, ...], as StepRows has them.
template <class Env>
struct StepArrays {
  const float* actions;            // [N, A]
  EnvObserved<Env>* observations;  // [N, D]
  float* rewards;
  std::uint8_t *terminated, *truncated;
  EnvObserved<Env>* final_observations;  // [N, D] where an episode ended
  EpisodeEnd* ends = nullptr;            // [N] how it did, where asked for
};

template <class Env>
BROADLOOM_HD typename Env::State load_state(const EnvArrays& arrays, int count, int n) {
  constexpr int kWords = state_words<Env>();
  std::uint32_t words[kWords];
  for (int w = 0; w < kWords; ++w) {
    words[w] = arrays.states[static_cast<std::size_t>(w) * count + n];
  }
  typename Env::State state{};
  memcpy(&state, words, sizeof(state));
  return state;
}

template <class Env>
BROADLOOM_HD void store_state(const EnvArrays& arrays, int count, int n,
                              const typename Env::State& state) {
  constexpr int kWords = state_words<Env>();
  std::uint32_t words[kWords] = {};
  memcpy(words, &state, sizeof(state));
  for (int w = 0; w < kWords; ++w) {
    arrays.states[static_cast<std::size_t>(w) * count + n] = words[w];
  }
}

// A Discrete observation comes as its index in out[0] and is spread to one-hot in place.
template <class Env>
BROADLOOM_HD void observe_state(const EnvSetup<Env>& setup, const typename Env::State& state,
                                EnvObserved<Env>* out) {
  using Observed = EnvObserved<Env>;
  Env::observe(setup.params, state, out);
  if (!setup.is_one_hot) return;
  const int index = static_cast<int>(out[0]);
  for (int i = 0; i < setup.observation_size; ++i) out[i] = Observed(i == index ? 1 : 0);
}

// What one episode leaves to the next.
template <class Env>
BROADLOOM_HD void keep_members(const typename Env::State& last, typename Env::State& state) {
  if constexpr (requires { Env::kept; }) {
    constexpr auto kKept = Env::kept;  // a copy: the device has no statics of the host's
    std::apply([&](auto... member) { ((state.*member = last.*member), ...); }, kKept);
  }
}

template <class Env>
BROADLOOM_HD void start_episode(const EnvSetup<Env>& setup, const EnvArrays& arrays, int n,
                                const typename Env::State& last, std::int64_t episode) {
  Random random(setup.seed, setup.reset, arrays.lanes[n], static_cast<std::uint64_t>(episode));
  typename Env::State state{};
  keep_members<Env>(last, state);
  Env::reset(setup.params, state, random);
  store_state<Env>(arrays, setup.count, n, state);
  arrays.episode[n] = episode;
  arrays.episode_step[n] = 0;
}

// Every environment at the start of its first episode. One thread an environment, as all of these.
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

// One step of environment n: an episode that ends leaves its last observation, and the next one
// begins.
template <class Env>
BROADLOOM_HD void step_env(const EnvSetup<Env>& setup, const EnvArrays& arrays,
                           const StepArrays<Env>& rows, int n) {
  typename Env::State state = load_state<Env>(arrays, setup.count, n);
  Random random(setup.seed, setup.step, arrays.lanes[n],
                static_cast<std::uint64_t>(arrays.total_step[n]));
  const std::size_t row = static_cast<std::size_t>(n);
  const StepResult result =
      Env::step(setup.params, state, rows.actions + row * setup.action_size, random);
  arrays.total_step[n] += 1;
  arrays.episode_step[n] += 1;
  const bool cut = !result.terminated && setup.limit > 0 && arrays.episode_step[n] >= setup.limit;
  rows.rewards[n] = static_cast<float>(result.reward);
  rows.terminated[n] = result.terminated ? 1 : 0;
  rows.truncated[n] = cut ? 1 : 0;
  EnvObserved<Env>* const seen = rows.observations + row * setup.observation_size;
  if (!result.terminated && !cut) {
    store_state<Env>(arrays, setup.count, n, state);
    return observe_state(setup, state, seen);
  }
  observe_state(setup, state, rows.final_observations + row * setup.observation_size);
  if (rows.ends != nullptr) {
    constexpr int kNoStratum = -1;
    rows.ends[n] = Outcome<Env>::of(setup.params, state, result.terminated, cut, kNoStratum);
  }
  start_episode(setup, arrays, n, state, arrays.episode[n] + 1);
  observe_state(setup, load_state<Env>(arrays, setup.count, n), seen);
}

// One step of each.
template <class Env>
struct StepKernel {
  EnvSetup<Env> setup;
  EnvArrays arrays;
  StepArrays<Env> rows;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int n = block.index() * block.threads() + block.thread();
    if (n < setup.count) step_env(setup, arrays, rows, n);
  }
};

// What they show now.
template <class Env>
struct ObserveKernel {
  EnvSetup<Env> setup;
  EnvArrays arrays;
  EnvObserved<Env>* observations;  // [N, D]

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int n = block.index() * block.threads() + block.thread();
    if (n >= setup.count) return;
    observe_state(setup, load_state<Env>(arrays, setup.count, n),
                  observations + static_cast<std::size_t>(n) * setup.observation_size);
  }
};

}  // namespace broadloom::cuda
