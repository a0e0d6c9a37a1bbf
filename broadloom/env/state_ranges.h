// Which values the members of an environment's State may have where a saved one is read back.
//
//   static void state_ranges(const Params& p, StateRanges<State>& ranges) {
//     ranges.add(&State::cell, 0, p.rows * p.cols - 1);
//     ranges.add_finite(&State::speed);
//   }
//
// A range holds every state between two steps, and is narrow enough that step() and observe() can
// take any state within it. It is asked for at a restore alone, and costs a step nothing.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "broadloom/core/tensor_ref.h"

namespace broadloom {

template <class State>
class StateRanges {
 public:
  // Every number of the member is at least `low` and at most `high`.
  template <class Field>
  void add(Field State::*member, double low, double high) {
    ranges_.emplace_back(place(member), ValueRange{low, high});
  }
  // No number of it is infinite or NaN.
  template <class Field>
  void add_finite(Field State::*member) {
    ranges_.emplace_back(place(member), kFiniteRange);
  }
  // Of integers that hold several numbers: the one that `bits` bits make, from `first_bit` on.
  template <class Field>
  void add_bits(Field State::*member, int first_bit, int bits, double low, double high) {
    ranges_.emplace_back(
        place(member), ValueRange{.low = low, .high = high, .first_bit = first_bit, .bits = bits});
  }

  // Those that were added for the member.
  template <class Field>
  std::vector<ValueRange> of_member(Field State::*member) const {
    std::vector<ValueRange> found;
    for (const auto& [at, range] : ranges_) {
      if (at == place(member)) found.push_back(range);
    }
    return found;
  }

 private:
  // Bytes before it in a State: members of several types can be told apart by that.
  template <class Field>
  static std::ptrdiff_t place(Field State::*member) {
    const State state{};
    return reinterpret_cast<const char*>(&(state.*member)) - reinterpret_cast<const char*>(&state);
  }

  std::vector<std::pair<std::ptrdiff_t, ValueRange>> ranges_;
};

}  // namespace broadloom
