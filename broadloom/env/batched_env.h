// Turns one environment type into N of them in structure-of-arrays form.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

namespace batched_env_detail {

template <class Member>
struct MemberType;
template <class Class, class Field>
struct MemberType<Field Class::*> {
  using type = Field;
};

template <class T>
constexpr Dtype dtype_of() {
  if constexpr (std::is_same_v<T, float>) return Dtype::kF32;
  if constexpr (std::is_same_v<T, double>) return Dtype::kF64;
  if constexpr (std::is_same_v<T, std::int32_t>) return Dtype::kI32;
  if constexpr (std::is_same_v<T, std::int64_t>) return Dtype::kI64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return Dtype::kU64;
  return Dtype::kU8;
}

// One array per member of State, [N] each.
template <class State, class... Members>
class StateArrays {
 public:
  StateArrays(std::tuple<Members...> members, int count)
      : members_(members),
        arrays_(
            std::vector<typename MemberType<Members>::type>(static_cast<std::size_t>(count))...) {}

  State load(int i) const {
    State state{};
    each([&](auto member, const auto& array) { state.*member = array[i]; });
    return state;
  }
  void store(int i, const State& state) {
    each([&](auto member, auto& array) { array[i] = state.*member; });
  }
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) {
    int field = 0;
    each([&](auto, auto& array) {
      using Field = typename std::remove_reference_t<decltype(array)>::value_type;
      static_assert(std::is_arithmetic_v<Field>, "State members are numbers");
      out.push_back({prefix + ".state" + std::to_string(field++),
                     dtype_of<Field>(),
                     {static_cast<std::int64_t>(array.size())},
                     array.data()});
    });
  }

 private:
  template <class F>
  void each(F&& f) {
    std::apply(
        [&](auto... member) {
          std::apply([&](auto&... array) { (f(member, array), ...); }, arrays_);
        },
        members_);
  }
  template <class F>
  void each(F&& f) const {
    std::apply(
        [&](auto... member) {
          std::apply([&](const auto&... array) { (f(member, array), ...); }, arrays_);
        },
        members_);
  }

  std::tuple<Members...> members_;
  std::tuple<std::vector<typename MemberType<Members>::type>...> arrays_;
};

template <class State, class... Members>
StateArrays<State, Members...> make_state_arrays(std::tuple<Members...> members, int count) {
  return {members, count};
}

}  // namespace batched_env_detail

// Env: see broadloom/env/environment.h.
template <class Env>
class BatchedEnv final : public VecEnv {
 public:
  using Params = typename Env::Params;
  using State = typename Env::State;

  // options.num_envs >= 1. spec: Env::spec(params), or one that names another time limit.
  BatchedEnv(const Params& params, EnvSpec spec, const VecEnvOptions& options)
      : params_(params),
        spec_(std::move(spec)),
        seed_(options.seed),
        reset_purpose_(options.evaluation ? Purpose::kEvalReset : Purpose::kTrainReset),
        step_purpose_(options.evaluation ? Purpose::kEvalStep : Purpose::kTrainStep),
        count_(options.num_envs),
        states_(batched_env_detail::make_state_arrays<State>(Env::members, options.num_envs)),
        episode_(static_cast<std::size_t>(count_)),
        episode_step_(static_cast<std::size_t>(count_)),
        total_step_(static_cast<std::size_t>(count_)) {
    if (options.max_episode_steps > 0) spec_.max_episode_steps = options.max_episode_steps;
    for (int i = 0; i < count_; ++i) start_episode(i, 0);
    if (options.stagger_starts) stagger();
  }

  const EnvSpec& spec() const override { return spec_; }
  int num_envs() const override { return count_; }
  int max_truncations(int num_steps) const override {
    const int limit = spec_.max_episode_steps;
    return limit > 0 ? (num_steps - 1) / limit + 1 : 0;
  }
  std::int64_t episode_step(int env) const override { return episode_step_[env]; }

  void observe(int begin, int end, float* observations) const override {
    for (int i = begin; i < end; ++i) {
      observe_one(states_.load(i), observations + row(i - begin));
    }
  }

  void step(int begin, int end, const StepRows& rows) override {
    const int action_size = spec_.action_size();
    for (int i = begin; i < end; ++i) {
      const int k = i - begin;
      State state = states_.load(i);
      const StepResult result =
          advance(i, state, rows.actions + static_cast<std::size_t>(k) * action_size);
      const bool truncated = !result.terminated && spec_.max_episode_steps > 0 &&
                             episode_step_[i] >= spec_.max_episode_steps;
      rows.rewards[k] = static_cast<float>(result.reward);
      rows.terminated[k] = result.terminated ? 1 : 0;
      rows.truncated[k] = truncated ? 1 : 0;
      if (result.terminated || truncated) {
        observe_one(state, rows.final_observations + row(k));
        start_episode(i, episode_[i] + 1);
        state = states_.load(i);
      } else {
        states_.store(i, state);
      }
      observe_one(state, rows.observations + row(k));
    }
  }

  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    const std::vector<std::int64_t> shape{count_};
    states_.append_state(prefix, out);
    out.push_back({prefix + ".episode", Dtype::kI64, shape, episode_.data()});
    out.push_back({prefix + ".episode_step", Dtype::kI64, shape, episode_step_.data()});
    out.push_back({prefix + ".total_step", Dtype::kI64, shape, total_step_.data()});
  }

 private:
  std::size_t row(int k) const {
    return static_cast<std::size_t>(k) * static_cast<std::size_t>(spec_.observation_size());
  }

  // A Discrete observation comes as its index in out[0] and is spread to one-hot in place.
  void observe_one(const State& state, float* out) const {
    Env::observe(params_, state, out);
    if (spec_.observation.kind == SpaceKind::kBox) return;
    const int index = static_cast<int>(out[0]);
    std::fill_n(out, spec_.observation.size, 0.0f);
    out[index] = 1.0f;
  }

  StepResult advance(int i, State& state, const float* action) {
    Random random(seed_, step_purpose_, static_cast<std::uint32_t>(i),
                  static_cast<std::uint64_t>(total_step_[i]));
    total_step_[i] += 1;
    episode_step_[i] += 1;
    return Env::step(params_, state, action, random);
  }

  void start_episode(int i, std::int64_t episode) {
    Random random(seed_, reset_purpose_, static_cast<std::uint32_t>(i),
                  static_cast<std::uint64_t>(episode));
    State state{};
    Env::reset(params_, state, random);
    states_.store(i, state);
    episode_[i] = episode;
    episode_step_[i] = 0;
  }

  // Environment i is taken i / N of the time limit on under uniformly random actions, episodes that
  // end on the way included, so that the environments' phases are spread instead of equal.
  void stagger() {
    std::vector<float> action(static_cast<std::size_t>(spec_.action_size()));
    const std::int64_t limit = spec_.max_episode_steps > 0 ? spec_.max_episode_steps : 1000;
    for (int i = 0; i < count_; ++i) {
      for (std::int64_t s = 0; s < i * limit / count_; ++s) {
        Random random(seed_, Purpose::kStagger, static_cast<std::uint32_t>(i),
                      static_cast<std::uint64_t>(s));
        draw_action(random, action.data());
        State state = states_.load(i);
        const bool terminated = advance(i, state, action.data()).terminated;
        states_.store(i, state);
        if (terminated || episode_step_[i] >= limit) start_episode(i, episode_[i] + 1);
      }
    }
  }

  void draw_action(Random& random, float* action) const {
    const Space& space = spec_.action;
    if (space.kind == SpaceKind::kDiscrete) {
      action[0] = static_cast<float>(random.below(static_cast<std::uint32_t>(space.size)));
      return;
    }
    for (int a = 0; a < space.size; ++a) {
      action[a] = static_cast<float>(random.uniform(space.low[a], space.high[a]));
    }
  }

  Params params_;
  EnvSpec spec_;
  std::uint64_t seed_;
  Purpose reset_purpose_, step_purpose_;
  int count_;
  decltype(batched_env_detail::make_state_arrays<State>(Env::members, 0)) states_;
  std::vector<std::int64_t> episode_;       // [N] number of the present episode, from 0
  std::vector<std::int64_t> episode_step_;  // [N]
  std::vector<std::int64_t> total_step_;    // [N] steps since the environment was made
};

}  // namespace broadloom
