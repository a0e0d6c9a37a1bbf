// How many members a State has, so that one that its environment forgot to name is found when the
// environment is compiled.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace broadloom::env_detail {

// Stands for a value of whatever type a member has.
struct AnyValue {
  explicit AnyValue(std::size_t) {}
  template <class Member>
  operator Member() const;  // NOLINT(google-explicit-constructor): never called
};

template <class State, class Indices>
inline constexpr bool kTakesValues = false;
template <class State, std::size_t... I>
inline constexpr bool kTakesValues<State, std::index_sequence<I...>> = requires {
  State{AnyValue(I)...};
};

// Of an aggregate whose members are numbers and std::arrays of numbers: the most values that it can
// be initialised with.
template <class State, std::size_t Count = 0>
constexpr std::size_t member_count() {
  if constexpr (kTakesValues<State, std::make_index_sequence<Count + 1>>) {
    return member_count<State, Count + 1>();
  } else {
    return Count;
  }
}

// Whether Env::members has as many as State; a State with constructors of its own is trusted.
template <class Env>
constexpr bool names_every_member() {
  using State = typename Env::State;
  if constexpr (std::is_aggregate_v<State>) {
    return member_count<State>() == std::tuple_size_v<std::remove_cvref_t<decltype(Env::members)>>;
  } else {
    return true;
  }
}

}  // namespace broadloom::env_detail
