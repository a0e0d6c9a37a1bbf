// Conversion of environment states between BatchedEnv (env/batched_env.h), with an array per
// member, and EnvArrays (cuda/env/state.h), with an array per word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/vec_env.h"
#include "cuda/env/state.h"

namespace broadloom::cuda {

// The tensors of VecEnv::append_state().
inline std::vector<TensorRef> tensors_of(VecEnv& envs) {
  std::vector<TensorRef> tensors;
  envs.append_state("envs", tensors);
  return tensors;
}

// Converts states and drawn constants; other arrays have the same layout on both sides.
template <class Env>
class EnvImage {
 public:
  using State = typename Env::State;
  using Params = typename Env::Params;

  EnvImage(int num_envs, bool draws)
      : states(static_cast<std::size_t>(num_envs) * words_of<State>()),
        constants(draws ? static_cast<std::size_t>(num_envs) * words_of<Params>() : 0),
        count_(num_envs) {}

  // tensors: of a BatchedEnv<Env> with num_envs environments.
  void read(const std::vector<TensorRef>& tensors) {
    for (int n = 0; n < count_; ++n) {
      State state{};
      each_member([&](auto member, std::size_t i) { copy(state.*member, place(tensors[i], n)); });
      store_words(state, states.data(), count_, n);
    }
    each_drawn(tensors, [&](int n, std::byte* theirs) {
      Params drawn{};
      std::memcpy(&drawn, theirs, sizeof(drawn));
      store_words(drawn, constants.data(), count_, n);
    });
  }
  void write(const std::vector<TensorRef>& tensors) const {
    for (int n = 0; n < count_; ++n) {
      const State state = load_words<State>(states.data(), count_, n);
      each_member([&](auto member, std::size_t i) {
        std::memcpy(place(tensors[i], n), &(state.*member), sizeof(state.*member));
      });
    }
    each_drawn(tensors, [&](int n, std::byte* theirs) {
      const Params drawn = load_words<Params>(constants.data(), count_, n);
      std::memcpy(theirs, &drawn, sizeof(drawn));
    });
  }

  std::vector<std::uint32_t> states, constants;  // as in EnvArrays; without draws no constants

 private:
  // Environment n's part of an array.
  std::byte* place(const TensorRef& tensor, int n) const {
    const std::size_t bytes = tensor.bytes() / static_cast<std::size_t>(count_);
    return static_cast<std::byte*>(tensor.data) + bytes * static_cast<std::size_t>(n);
  }
  template <class Member>
  static void copy(Member& member, const std::byte* source) {
    std::memcpy(&member, source, sizeof(member));
  }
  // Members come first in the tensors, in their order.
  template <class F>
  static void each_member(F&& f) {
    std::size_t i = 0;
    std::apply([&](auto... member) { (f(member, i++), ...); }, Env::members);
  }
  template <class F>
  void each_drawn(const std::vector<TensorRef>& tensors, F&& f) const {
    for (const TensorRef& tensor : tensors) {
      if (constants.empty() || tensor.name != "envs.params") continue;
      for (int n = 0; n < count_; ++n) f(n, place(tensor, n));
    }
  }

  int count_;
};

}  // namespace broadloom::cuda
