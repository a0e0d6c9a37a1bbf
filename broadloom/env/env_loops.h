// Arrays that hold the states of N environments of one type, and the loops over them.
//
// An environment handles one state at a time. If its step and observe have no branches and no
// opaque calls (see core/branch_free.h), the compiler turns these loops into vector instructions.
// Otherwise they are plain loops with the same results.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/state_ranges.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/math/isa.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(BROADLOOM_FEWER_TARGETS)
#define BROADLOOM_LOOP_TARGETS 1
#define BROADLOOM_LOOP_AVX2 [[gnu::flatten]] [[gnu::target("avx2")]]
#ifdef __clang__  // has no preferred width in the attribute, and its own pragma
#define BROADLOOM_LOOP_AVX512 [[gnu::flatten]] [[gnu::target("avx512f,avx512dq,avx512bw,avx512vl")]]
#else
#define BROADLOOM_LOOP_AVX512 \
  [[gnu::flatten]] [[gnu::target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")]]
#endif
#endif
// Rows do not depend on each other.
#ifdef __clang__
#define BROADLOOM_INDEPENDENT_ROWS _Pragma("clang loop vectorize(assume_safety)")
#else
#define BROADLOOM_INDEPENDENT_ROWS _Pragma("GCC ivdep")
#endif

namespace broadloom {

namespace env_detail {

template <class Member>
struct MemberType;
template <class Class, class Field>
struct MemberType<Field Class::*> {
  using type = Field;
};

// The stored type of a member. A std::vector<bool> has no array to point to.
template <class Member>
using Kept = std::conditional_t<std::is_same_v<typename MemberType<Member>::type, bool>,
                                std::uint8_t, typename MemberType<Member>::type>;

// A member is one number, or a std::array of them.
template <class Field>
struct NumbersOf {
  using type = Field;
  static std::vector<std::int64_t> shape(std::size_t envs) {
    return {static_cast<std::int64_t>(envs)};
  }
};
template <class Number, std::size_t kCount>
struct NumbersOf<std::array<Number, kCount>> {
  using type = Number;
  static std::vector<std::int64_t> shape(std::size_t envs) {
    return {static_cast<std::int64_t>(envs), static_cast<std::int64_t>(kCount)};
  }
};
template <class Member>
using Numbers = NumbersOf<typename MemberType<Member>::type>;

// One array per member of State: [N], or [N, K] where the member is an array of K numbers.
template <class State, class... Members>
class StateArrays {
 public:
  StateArrays(std::tuple<Members...> members, int count)
      : members_(members),
        arrays_(std::vector<Kept<Members>>(static_cast<std::size_t>(count))...) {}

  // Starts of the arrays. A loop keeps them in registers.
  using Pointers = std::tuple<Kept<Members>*...>;
  Pointers pointers() {
    return std::apply([](auto&... array) { return Pointers{array.data()...}; }, arrays_);
  }
  // Always inlined, so that the compiler resolves the tuples.
  [[gnu::always_inline]] static inline State load(std::tuple<Members...> members,
                                                  const Pointers& pointers, int i) {
    State state{};
    load_each(members, pointers, i, state, std::index_sequence_for<Members...>());
    return state;
  }
  [[gnu::always_inline]] static inline void store(std::tuple<Members...> members,
                                                  const Pointers& pointers, int i,
                                                  const State& state) {
    store_each(members, pointers, i, state, std::index_sequence_for<Members...>());
  }

  void append_state(const std::string& prefix, const StateRanges<State>& ranges,
                    std::vector<TensorRef>& out) {
    append_each(prefix, ranges, out, std::index_sequence_for<Members...>());
  }

 private:
  template <std::size_t... kIndices>
  void append_each(const std::string& prefix, const StateRanges<State>& ranges,
                   std::vector<TensorRef>& out, std::index_sequence<kIndices...>) {
    (out.push_back({prefix + ".state" + std::to_string(kIndices),
                    dtype_of<typename Numbers<Members>::type>(),
                    Numbers<Members>::shape(std::get<kIndices>(arrays_).size()),
                    std::get<kIndices>(arrays_).data(), ranges.find(std::get<kIndices>(members_))}),
     ...);
  }
  template <std::size_t... kIndices>
  [[gnu::always_inline]] static inline void load_each(const std::tuple<Members...>& members,
                                                      const Pointers& pointers, int i, State& state,
                                                      std::index_sequence<kIndices...>) {
    ((state.*std::get<kIndices>(members) = std::get<kIndices>(pointers)[i]), ...);
  }
  template <std::size_t... kIndices>
  [[gnu::always_inline]] static inline void store_each(const std::tuple<Members...>& members,
                                                       const Pointers& pointers, int i,
                                                       const State& state,
                                                       std::index_sequence<kIndices...>) {
    ((std::get<kIndices>(pointers)[i] = state.*std::get<kIndices>(members)), ...);
  }

  std::tuple<Members...> members_;
  std::tuple<std::vector<Kept<Members>>...> arrays_;
};

template <class State, class... Members>
StateArrays<State, Members...> make_state_arrays(std::tuple<Members...> members, int count) {
  return {members, count};
}

}  // namespace env_detail

// Loops over environments [begin, end) of one type. They are compiled for several instruction sets;
// Batch::target chooses one.
template <class Env>
class EnvLoops {
 public:
  using Params = typename Env::Params;
  using State = typename Env::State;
  using Arrays = decltype(env_detail::make_state_arrays<State>(Env::members, 0));
  using Pointers = typename Arrays::Pointers;

  // Whether strata can draw constants (doubles). The functions must see exactly what a user sets.
  static constexpr bool kDrawable =
      std::is_same_v<Params, typename Env::Options> && sizeof(Params) >= sizeof(double);

  struct Batch {
    Params params;
    const Params* drawn;  // [N] each environment's own constants; null: all have `params`
    Pointers states;
    const std::uint32_t* lanes;  // [N] lanes of the random streams
    std::int64_t* episode_step;  // [N]
    std::int64_t* total_step;    // [N]
    std::uint64_t seed;
    Purpose purpose;
    std::int64_t limit;  // time limit in steps; 0: none
    int observation_size, critic_observation_size, action_size;
    LoopTarget target;
  };

  // Steps each environment once. Advances states and counters; writes rewards, terminated and
  // truncated of `rows`. Resets nothing.
  static void step(const Batch& batch, int begin, int end, const StepRows& rows) {
    if constexpr (kDrawable) {
      if (batch.drawn != nullptr) return run<StepLoop<true>>(batch, begin, end, rows);
    }
    run<StepLoop<false>>(batch, begin, end, rows);
  }
  using Observed = env_detail::Observed<Env>;
  using CriticObserved = env_detail::CriticObserved<Env>;
  static constexpr bool kForCritic = env_detail::kHasCriticObservation<Env>;

  // Box observations, [k, D].
  static void observe(const Batch& batch, int begin, int end, Observed* observations) {
    if constexpr (kDrawable) {
      if (batch.drawn != nullptr) return run<ObserveLoop<true>>(batch, begin, end, observations);
    }
    run<ObserveLoop<false>>(batch, begin, end, observations);
  }
  // Critic observations, [k, D]. Does nothing if the environment has none.
  static void observe_critic(const Batch& batch, int begin, int end, CriticObserved* observations) {
    if constexpr (kForCritic && kDrawable) {
      if (batch.drawn != nullptr) return run<CriticLoop<true>>(batch, begin, end, observations);
    }
    if constexpr (kForCritic) run<CriticLoop<false>>(batch, begin, end, observations);
  }

 private:
  // Prefers a size that is a compile-time constant of the environment.
  static constexpr std::size_t action_size(const Batch& batch) {
    if constexpr (requires { Env::kActionSize; }) return Env::kActionSize;
    return static_cast<std::size_t>(batch.action_size);
  }
  static constexpr std::size_t observation_size(const Batch& batch) {
    if constexpr (requires { Env::kObservationSize; }) return Env::kObservationSize;
    return static_cast<std::size_t>(batch.observation_size);
  }

  static constexpr std::size_t critic_observation_size(const Batch& batch) {
    if constexpr (requires { Env::kCriticObservationSize; }) return Env::kCriticObservationSize;
    return static_cast<std::size_t>(batch.critic_observation_size);
  }

  // kOwn: every environment has constants of its own.
  template <bool kOwn>
  static const Params& params_of(const Params& shared, [[maybe_unused]] const Params* drawn,
                                 [[maybe_unused]] int k) {
    if constexpr (kOwn) return drawn[k];
    return shared;
  }

  static constexpr int kBlock = 64;  // rows

  template <bool kOwn>
  struct StepLoop {
    static void run(const Batch& batch, int begin, int end, const StepRows& rows) {
      const Params shared = batch.params;
      const Params* const drawn = kOwn ? batch.drawn + begin : nullptr;
      const std::uint32_t* const lanes = batch.lanes + begin;
      const Pointers states = batch.states;
      const std::uint64_t seed = batch.seed;
      const Purpose purpose = batch.purpose;
      const std::int64_t limit =
          batch.limit > 0 ? batch.limit : std::numeric_limits<std::int64_t>::max();
      const std::size_t width = action_size(batch);
      std::int64_t* const episode_step = batch.episode_step + begin;
      std::int64_t* const total_step = batch.total_step + begin;
      const float* const actions = rows.actions;
      float* const rewards = rows.rewards;
      std::uint8_t* const terminated = rows.terminated;
      std::uint8_t* const truncated = rows.truncated;
      const int count = end - begin;
      for (int first = 0; first < count; first += kBlock) {
        const int last = std::min(first + kBlock, count);
        // 4 bytes, as wide as rewards. Single bytes would make the compiler handle 32 rows at a
        // time and run out of registers.
        std::uint32_t ended[kBlock], cut[kBlock];
        BROADLOOM_INDEPENDENT_ROWS
        for (int k = first; k < last; ++k) {
          State state = Arrays::load(Env::members, states, begin + k);
          Random random(seed, purpose, lanes[k], static_cast<std::uint64_t>(total_step[k]));
          const StepResult result =
              Env::step(params_of<kOwn>(shared, drawn, k), state, actions + k * width, random);
          Arrays::store(Env::members, states, begin + k, state);
          total_step[k] += 1;
          episode_step[k] += 1;
          rewards[k] = static_cast<float>(result.reward);
          ended[k - first] = result.terminated;
          cut[k - first] = (result.terminated == 0) & (episode_step[k] >= limit);
        }
        for (int k = first; k < last; ++k) {
          terminated[k] = static_cast<std::uint8_t>(ended[k - first] != 0);
          truncated[k] = static_cast<std::uint8_t>(cut[k - first]);
        }
      }
    }
  };

  template <bool kOwn>
  struct ObserveLoop {
    static void run(const Batch& batch, int begin, int end, Observed* observations) {
      const Params shared = batch.params;
      const Params* const drawn = kOwn ? batch.drawn + begin : nullptr;
      const Pointers states = batch.states;
      const std::size_t width = observation_size(batch);
      const int count = end - begin;
      BROADLOOM_INDEPENDENT_ROWS
      for (int k = 0; k < count; ++k) {
        Env::observe(params_of<kOwn>(shared, drawn, k),
                     Arrays::load(Env::members, states, begin + k), observations + k * width);
      }
    }
  };

  template <bool kOwn>
  struct CriticLoop {
    static void run(const Batch& batch, int begin, int end, CriticObserved* observations) {
      const Params shared = batch.params;
      const Params* const drawn = kOwn ? batch.drawn + begin : nullptr;
      const Pointers states = batch.states;
      const std::size_t width = critic_observation_size(batch);
      const int count = end - begin;
      BROADLOOM_INDEPENDENT_ROWS
      for (int k = 0; k < count; ++k) {
        Env::observe_critic(params_of<kOwn>(shared, drawn, k),
                            Arrays::load(Env::members, states, begin + k),
                            observations + k * width);
      }
    }
  };

  template <class Loop, class Rows>
  static void run(const Batch& batch, int begin, int end, const Rows& rows) {
#if BROADLOOM_LOOP_TARGETS
    // Without compile-time sizes, as in tables and grids, no loop becomes vector code.
    if constexpr (requires { Env::kObservationSize; }) {
      switch (batch.target) {
        case LoopTarget::kAvx512:
          return run_avx512<Loop>(batch, begin, end, rows);
        case LoopTarget::kAvx2:
          return run_avx2<Loop>(batch, begin, end, rows);
        case LoopTarget::kPortable:
          break;
      }
    }
#endif
    Loop::run(batch, begin, end, rows);
  }
#if BROADLOOM_LOOP_TARGETS
  template <class Loop, class Rows>
  BROADLOOM_LOOP_AVX2 static void run_avx2(const Batch& batch, int begin, int end,
                                           const Rows& rows) {
    Loop::run(batch, begin, end, rows);
  }
  template <class Loop, class Rows>
  BROADLOOM_LOOP_AVX512 static void run_avx512(const Batch& batch, int begin, int end,
                                               const Rows& rows) {
    Loop::run(batch, begin, end, rows);
  }
#endif
};

}  // namespace broadloom
