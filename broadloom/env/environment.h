// What an environment type provides: plain data and pure functions in one header.
//
//   struct MyEnv {
//     struct Params { ... };   // constants, trivially copyable, with units
//     struct State { ... };    // everything that changes: numbers and std::arrays of numbers
//     using Options = ...;     // what a user may set: has visit_fields (core/config_table.h)
//     static constexpr auto members = std::tuple{&State::x, ...};  // every member of State: one
//                                             // that is left out does not compile (batched_env.h)
//
//     static Result<Params> make_params(const Options&);   // host only, checks
//     static EnvSpec spec(const Params&);                  // host only
//     static void reset(const Params&, State&, Random&);
//     static StepResult step(const Params&, State&, const float* action, Random&);
//     static void observe(const Params&, const State&, float* out);
//   };
//
// static constexpr int kObservationSize, kActionSize are optional: with them, and without branches
// and calls in step and observe (core/branch_free.h), many environments step in one vector.
//
// Optional too, and of use to those who ask how episodes ended (outcome.h has the defaults):
//     static constexpr std::array end_reasons{"pole_fell", ...};     // why step() may terminate
//     static int end_reason(const Params&, const State& last);       // which of them it was
//     static bool success(const Params&, const State& last, bool terminated, bool truncated);
//
// Every member of State is 0 when reset() is called, but those that the environment names as what
// an episode leaves to the next one (as sticky actions do), which are 0 before the first alone:
//     static constexpr auto kept = std::tuple{&State::last_action};
//
// So that `broadloom watch` can show it, host only: shapes in units of its own (drawing.h). action:
// what the policy does in this state; null where the episode is over.
//     static void draw(const Params&, const State&, const float* action, Drawing&);
//
// What `broadloom audit` compares between environments, host only: the numbers of spec().context,
// in its order.
//     static void context(const Params&, const State&, std::span<double> out);
//
// observe() may write std::uint8_t* instead of float*, where spec() says so of its observations
// (Space::bytes, Space::bits). What only the critic is to read, with spec().critic_observation:
//     static void observe_critic(const Params&, const State&, float* out);   // or std::uint8_t*
// and kCriticObservationSize, if the other sizes are named.
//
// Where Options is Params, its double fields can be drawn anew for each episode (strata.h); reset,
// step and observe then see the episode's own.
//
// reset, step and observe are marked BROADLOOM_HD and call nothing that a GPU cannot. Discrete
// actions come as action[0] = index; a Discrete observation writes out[0] = index. Time limits,
// autoreset, statistics, normalisation and pixels are never the environment's business.
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
inline constexpr bool kHasContext = requires(const typename Env::Params& params,
                                             const typename Env::State& state,
                                             std::span<double> out) {
  Env::context(params, state, out);
};

}  // namespace env_detail

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
