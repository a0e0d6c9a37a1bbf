// An environment as a type: plain data and pure functions in one header. The library makes
// N environments of it, counts steps, resets, keeps statistics and normalises.
//
//   struct MyEnv {
//     struct Params { ... };   // constants, trivially copyable, with units
//     struct State { ... };    // everything that changes: numbers and std::arrays of numbers
//     using Options = ...;     // settings of users: has visit_fields (core/config_table.h)
//     static constexpr auto members = std::tuple{&State::x, ...};  // all of State, or it does
//                                                                  // not compile
//
//     static Result<Params> make_params(const Options&);  // checks; host only, as the next one
//     static EnvSpec spec(const Params&);                 // spaces, time limit (env/spec.h)
//     static void reset(const Params&, State&, Random&);  // begins an episode; State is zeros
//     static StepResult step(const Params&, State&, const float* action, Random&);
//     static void observe(const Params&, const State&, float* out);  // out: [D]
//   };
//
// examples/own_env/hover.h is a whole one. Register it with
// register_environment<MyEnv>("MyEnv-v0").
//
// action: [A] within the bounds of a Box; of a Discrete space action[0] = index. A Discrete
// observation writes out[0] = index. Rewards are double, of any size; they and observations are
// finite, or the run stops and names environment and step. reset, step and observe are marked
// BROADLOOM_HD, allocate nothing, and draw chance from the Random that they are given alone. Time
// limits, resets at an episode's end, statistics and normalisation are the library's business.
//
// Optional members:
//
//   static constexpr int kObservationSize = 4, kActionSize = 1;
//
// let many environments step in one vector, where step and observe have no branches and no calls
// (core/branch_free.h).
//
//   static constexpr std::array end_reasons{"pole_fell", ...};  // why step() may terminate
//   static int end_reason(const Params&, const State& last);    // which of them it was
//   static bool success(const Params&, const State& last, bool terminated, bool truncated);
//
// say how episodes ended; env/outcome.h has the defaults.
//
//   static constexpr auto kept = std::tuple{&State::last_action};
//
// names members that an episode leaves to the next one, as sticky actions do: they are 0 before the
// first episode alone.
//
//   static void state_ranges(const Params&, StateRanges<State>&);
//
// says which values a saved state's members may have (env/state_ranges.h); others are refused where
// a run is resumed, and step() and observe() never see them. Host only. A member that indexes an
// array has a range. Where strata draw constants, a range holds for all that they may draw.
//
//   static void draw(const Params&, const State&, const float* action, Drawing&);
//
// shows a state to `broadloom watch` (env/drawing.h), host only. action: [A] that the policy takes
// in this state; null where the episode is over.
//
//   static void context(const Params&, const State&, std::span<double> out);
//
// gives the numbers of spec().context, in its order, which `broadloom audit` compares between
// environments; host only.
//
//   static void observe_critic(const Params&, const State&, float* out);
//
// writes spec().critic_observation, which only the critic reads; kCriticObservationSize goes with
// it where the other sizes are named. observe() and observe_critic() write std::uint8_t* instead,
// where the spec says so (Space::bytes, Space::bits).
//
// Where Options is Params, its double fields can be drawn anew for each episode (docs/episodes.md);
// reset, step and observe then see the episode's own.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>

#include "broadloom/core/host_device.h"
#include "broadloom/core/random.h"
#include "broadloom/core/status.h"
#include "broadloom/env/drawing.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/state_ranges.h"

namespace broadloom {

namespace env_detail {

template <class Env, class Number>
concept Observes = requires(const typename Env::Params& params, const typename Env::State& seen,
                            Number* out) {
  Env::observe(params, seen, out);
};
template <class Env, class Number>
concept ObservesForCritic = requires(const typename Env::Params& params,
                                     const typename Env::State& seen, Number* out) {
  Env::observe_critic(params, seen, out);
};

// What observe() and observe_critic() write.
template <class Env>
using Observed = std::conditional_t<Observes<Env, float>, float, std::uint8_t>;
template <class Env>
using CriticObserved = std::conditional_t<ObservesForCritic<Env, float>, float, std::uint8_t>;
template <class Env>
inline constexpr bool kHasCriticObservation =
    ObservesForCritic<Env, float> || ObservesForCritic<Env, std::uint8_t>;

template <class Env>
inline constexpr bool kDraws = requires(const typename Env::Params& params,
                                        const typename Env::State& state, const float* action,
                                        Drawing& out) {
  Env::draw(params, state, action, out);
};
// One that takes something else is a mistake, and not to be passed over in silence.
template <class Env>
inline constexpr bool kNamesDraw = requires {
  &Env::draw;
};

template <class Env>
inline constexpr bool kHasStateRanges = requires(const typename Env::Params& params,
                                                 StateRanges<typename Env::State>& ranges) {
  Env::state_ranges(params, ranges);
};
template <class Env>
inline constexpr bool kNamesStateRanges = requires {
  &Env::state_ranges;
};

template <class Env>
inline constexpr bool kHasContext = requires(const typename Env::Params& params,
                                             const typename Env::State& state,
                                             std::span<double> out) {
  Env::context(params, state, out);
};

}  // namespace env_detail

// Holds for a type that is as above.
template <class Env>
concept Environment = std::is_trivially_copyable_v<typename Env::Params> &&
    std::is_trivially_copyable_v<typename Env::State> &&
    requires(const typename Env::Params& params, typename Env::State& state,
             const typename Env::State& seen, const typename Env::Options& options, Random& random,
             const float* action, env_detail::Observed<Env>* out) {
  Env::members;
  { Env::make_params(options) } -> std::same_as<Result<typename Env::Params>>;
  { Env::spec(params) } -> std::same_as<EnvSpec>;
  Env::reset(params, state, random);
  { Env::step(params, state, action, random) } -> std::same_as<StepResult>;
  Env::observe(params, seen, out);
};

}  // namespace broadloom
