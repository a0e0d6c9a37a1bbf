// How to write an environment: one header with plain data and pure functions. The library makes N
// environments of it, counts steps, resets, keeps statistics and normalises.
//
//   struct MyEnv {
//     struct Params { ... };   // constants, trivially copyable; give their units
//     struct State { ... };    // all that changes: numbers, std::arrays of numbers
//     using Options = ...;     // user settings, with visit_fields (core/config_table.h)
//     static constexpr auto members = std::tuple{&State::x, ...};  // all of State, or it does
//                                                                  // not compile
//
//     static Result<Params> make_params(const Options&);  // checks them; host only, like spec()
//     static EnvSpec spec(const Params&);                 // spaces, time limit (env/spec.h)
//     static void reset(const Params&, State&, Random&);  // State is all 0 but `kept`
//     static StepResult step(const Params&, State&, const float* action, Random&);
//     static void observe(const Params&, const State&, float* out);  // out: [D]
//   };
//
// examples/own_env/hover.h is a complete one. Register yours with
// register_environment<MyEnv>("MyEnv-v0").
//
// The action is [A], within the bounds of a Box. For a Discrete space, action[0] is the index. A
// Discrete observation writes its index to out[0]. Rewards and observations must be finite as
// float32 (up to 3.4e38), or the run stops and names the environment and the step. Mark reset, step
// and observe BROADLOOM_HD. They allocate nothing and draw random numbers only from the given
// Random. The library handles time limits, resets at an episode's end, statistics and
// normalisation.
//
// Optional members:
//
//   static constexpr int kObservationSize = 4, kActionSize = 1;
//
// With these constants, the compiler steps many environments in one vector, if step and observe
// have no branches and no calls (core/branch_free.h).
//
//   static constexpr std::array end_reasons{"pole_fell", ...};  // reasons to terminate
//   static int end_reason(const Params&, const State& last);    // index of the reason
//   static bool success(const Params&, const State& last, bool terminated, bool truncated);
//
// They describe how episodes end; env/outcome.h has the defaults.
//
//   static constexpr auto kept = std::tuple{&State::last_action};
//
// `kept` lists members that survive a reset, for example for sticky actions. They are 0 before the
// first episode.
//
//   static void state_ranges(const Params&, StateRanges<State>&);
//
// state_ranges() gives the values that members of a saved state may have (env/state_ranges.h).
// Resuming a run refuses others, so step() and observe() never see them. Give a range to each
// member that indexes an array. If strata draw constants, it must include the values under all of
// them. Host only.
//
//   static void draw(const Params&, const State&, const float* action, Drawing&);
//
// draw() shows a state in `broadloom watch` (env/drawing.h). action: [A], the policy's action in
// this state; null at an episode's end. Host only.
//
//   static void context(const Params&, const State&, std::span<double> out);
//
// context() writes the values of spec().context, in its order. `broadloom audit` compares them
// between environments. Host only.
//
//   static void valid_actions(const Params&, const State&, std::uint8_t* out);  // [M]
//
// valid_actions() says which choices a state allows: a byte for each choice of each number of the
// action, 1 if it is valid. Each number needs a valid one. The policy then never chooses another.
//
//   static void observe_critic(const Params&, const State&, float* out);
//
// observe_critic() writes spec().critic_observation, which only the critic reads. If you define
// kObservationSize and kActionSize, define kCriticObservationSize, too. observe() and
// observe_critic() take a std::uint8_t* instead if their space is uint8 (Space::bytes,
// Space::bits).
//
// If Options is Params, strata can draw its double fields anew for each episode (docs/episodes.md).
// reset, step and observe then get that episode's values.
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

// Number types that observe() and observe_critic() write.
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
// A draw() with other parameters is a mistake that must not be ignored.
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

template <class Env>
inline constexpr bool kHasMasks = requires(const typename Env::Params& params,
                                           const typename Env::State& state, std::uint8_t* out) {
  Env::valid_actions(params, state, out);
};
template <class Env>
inline constexpr bool kNamesMasks = requires {
  &Env::valid_actions;
};

}  // namespace env_detail

// Whether a type has all required members.
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
