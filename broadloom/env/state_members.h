// Counts the members of a State at compile time, to find members missing from Env::members.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace broadloom::env_detail {

// Converts to the type of any member.
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

// Number of members of an aggregate of numbers and std::arrays: the most initialisers it accepts.
template <class State, std::size_t Count = 0>
constexpr std::size_t member_count() {
  if constexpr (kTakesValues<State, std::make_index_sequence<Count + 1>>) {
    return member_count<State, Count + 1>();
  } else {
    return Count;
  }
}

// Whether Env::members lists as many members as State has. Always true for a State with
// constructors.
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
