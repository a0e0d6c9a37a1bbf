// State of N environments of one type on a device, and their common settings. The numbers are those
// of BatchedEnv (env/batched_env.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "broadloom/core/random.h"
#include "broadloom/env/curriculum_formulas.h"
#include "broadloom/env/disturbance_formulas.h"
#include "broadloom/env/env_loops.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/strata_formulas.h"
#include "cuda/sides/kernel.h"

namespace broadloom::cuda {

// Settings common to all environments of a batch.
template <class Env>
struct EnvSetup {
  typename Env::Params params;
  std::uint64_t seed;
  Purpose reset, step;  // streams for resets and steps
  int count;            // all environments; a block may step only the first ones
  std::int64_t limit;   // steps of an episode; 0: no limit
  int observation_size, action_size;
  bool is_one_hot;                             // of a Discrete observation
  StrataTable strata = {};                     // from which episodes draw constants
  StrataStream draws = {};                     // the stream of those draws
  LevelRule levels = {};                       // curriculum over the strata
  const std::int32_t* level_strata = nullptr;  // [levels] stratum of each level
  Disturber disturber = {};                    // inactive if nothing disturbs
};

// State in the device's memory. States and constants are stored as 32-bit words. Word w of
// environment n is at [w * N + n], so that a warp reads neighbouring words.
struct EnvArrays {
  std::uint32_t* states;               // [words_of<State>(), N]
  const std::uint32_t* lanes;          // [N] lanes of the random streams
  std::int64_t* episode;               // [N] index of the present episode, from 0
  std::int64_t* episode_step;          // [N]
  std::int64_t* total_step;            // [N]
  std::uint32_t* constants = nullptr;  // [words_of<Params>(), N] of the present episode; null:
                                       // setup.params for all
  std::int32_t* stratum = nullptr;     // [N] stratum of the constants
  LevelStanding* standings = nullptr;  // [N]; null: no curriculum
};

template <class Plain>
constexpr int words_of() {
  return static_cast<int>((sizeof(Plain) + 3) / 4);
}

template <class Plain>
BROADLOOM_HD Plain load_words(const std::uint32_t* source, int count, int n) {
  constexpr int kWords = words_of<Plain>();
  std::uint32_t words[kWords];
  for (int w = 0; w < kWords; ++w) words[w] = source[static_cast<std::size_t>(w) * count + n];
  Plain made{};
  memcpy(&made, words, sizeof(made));
  return made;
}

template <class Plain>
BROADLOOM_HD void store_words(const Plain& made, std::uint32_t* target, int count, int n) {
  constexpr int kWords = words_of<Plain>();
  std::uint32_t words[kWords] = {};
  memcpy(words, &made, sizeof(made));
  for (int w = 0; w < kWords; ++w) target[static_cast<std::size_t>(w) * count + n] = words[w];
}

template <class Env>
BROADLOOM_HD typename Env::State load_state(const EnvArrays& arrays, int count, int n) {
  return load_words<typename Env::State>(arrays.states, count, n);
}
template <class Env>
BROADLOOM_HD void store_state(const EnvArrays& arrays, int count, int n,
                              const typename Env::State& state) {
  store_words(state, arrays.states, count, n);
}

template <class Env>
inline constexpr bool kCanDraw = EnvLoops<Env>::kDrawable;

// Constants of one environment.
template <class Env>
using Constants =
    std::conditional_t<kCanDraw<Env>, typename Env::Params, const typename Env::Params&>;

template <class Env>
BROADLOOM_HD Constants<Env> constants_of(const EnvSetup<Env>& setup,
                                         [[maybe_unused]] const EnvArrays& arrays,
                                         [[maybe_unused]] int n) {
  if constexpr (kCanDraw<Env>) {
    if (arrays.constants != nullptr) {
      return load_words<typename Env::Params>(arrays.constants, setup.count, n);
    }
  }
  return setup.params;
}

// Draws the constants of a new episode, if they are drawn.
template <class Env>
BROADLOOM_HD void draw_constants(const EnvSetup<Env>& setup, const EnvArrays& arrays, int n,
                                 std::int64_t episode) {
  if constexpr (kCanDraw<Env>) {
    if (arrays.constants == nullptr) return;
    typename Env::Params drawn = setup.params;  // for what the stratum does not draw
    if (arrays.standings == nullptr) {
      arrays.stratum[n] = draw_episode(setup.strata, setup.draws, arrays.lanes[n], episode, &drawn);
    } else {
      arrays.stratum[n] = setup.level_strata[arrays.standings[n].level];
      draw_episode_within(setup.strata, arrays.stratum[n], setup.draws, arrays.lanes[n], episode,
                          &drawn);
    }
    store_words(drawn, arrays.constants, setup.count, n);
  }
}

}  // namespace broadloom::cuda
