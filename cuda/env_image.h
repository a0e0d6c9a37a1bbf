// What environments are in, on the way between BatchedEnv (env/batched_env.h), which keeps an array
// a member, and EnvArrays (env_kernels.h), which keep an array a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <vector>

#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/vec_env.h"
#include "cuda/env_kernels.h"

namespace broadloom::cuda {

template <class Env>
struct EnvImage {
  explicit EnvImage(int num_envs)
      : count(num_envs),
        states(static_cast<std::size_t>(num_envs) * state_words<Env>()),
        episode(static_cast<std::size_t>(num_envs)),
        episode_step(episode.size()),
        total_step(episode.size()) {}

  // envs: a BatchedEnv<Env> of that many, without strata and curricula.
  void read(VecEnv& envs) {
    const std::vector<TensorRef> tensors = tensors_of(envs);
    for (int n = 0; n < count; ++n) {
      typename Env::State state{};
      each_member([&](auto member, std::size_t i) { copy(state.*member, place(tensors[i], n)); });
      store_state<Env>(arrays(), count, n, state);
    }
    each_counter(tensors, [](std::vector<std::int64_t>& counter, void* theirs) {
      std::memcpy(counter.data(), theirs, counter.size() * sizeof(std::int64_t));
    });
  }
  void write(VecEnv& envs) {
    const std::vector<TensorRef> tensors = tensors_of(envs);
    for (int n = 0; n < count; ++n) {
      const typename Env::State state = load_state<Env>(arrays(), count, n);
      each_member([&](auto member, std::size_t i) {
        std::memcpy(place(tensors[i], n), &(state.*member), sizeof(state.*member));
      });
    }
    each_counter(tensors, [](const std::vector<std::int64_t>& counter, void* theirs) {
      std::memcpy(theirs, counter.data(), counter.size() * sizeof(std::int64_t));
    });
  }

  int count;
  std::vector<std::uint32_t> states;                            // [state_words<Env>(), N]
  std::vector<std::int64_t> episode, episode_step, total_step;  // [N]

 private:
  static constexpr std::size_t kMembers = std::tuple_size_v<decltype(Env::members)>;

  EnvArrays arrays() { return {states.data(), nullptr, nullptr, nullptr, nullptr}; }
  static std::vector<TensorRef> tensors_of(VecEnv& envs) {
    std::vector<TensorRef> tensors;
    envs.append_state("envs", tensors);
    return tensors;
  }
  // Environment n's part of a member's array.
  std::byte* place(const TensorRef& tensor, int n) const {
    const std::size_t bytes = tensor.bytes() / static_cast<std::size_t>(count);
    return static_cast<std::byte*>(tensor.data) + bytes * static_cast<std::size_t>(n);
  }
  template <class Member>
  static void copy(Member& member, const std::byte* from) {
    std::memcpy(&member, from, sizeof(member));
  }
  template <class F>
  static void each_member(F&& f) {
    std::size_t i = 0;
    std::apply([&](auto... member) { (f(member, i++), ...); }, Env::members);
  }
  template <class F>
  void each_counter(const std::vector<TensorRef>& tensors, F&& f) {
    f(episode, tensors[kMembers].data);
    f(episode_step, tensors[kMembers + 1].data);
    f(total_step, tensors[kMembers + 2].data);
  }
};

}  // namespace broadloom::cuda
