// Allowed values of the members of an environment's State in a saved file.
//
//   static void state_ranges(const Params& p, StateRanges<State>& ranges) {
//     ranges.add(&State::cell, 0, p.rows * p.cols - 1);
//     ranges.add_finite(&State::speed);
//   }
//
// A range must include every state between two steps. It must be narrow enough that step() and
// observe() can handle any state within it. Only a restore checks ranges; steps cost nothing more.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "broadloom/core/tensor_ref.h"

namespace broadloom {

template <class State>
class StateRanges {
 public:
  // Requires low <= x <= high for every number x of the member.
  template <class Field>
  void add(Field State::*member, double low, double high) {
    ranges_.emplace_back(offset_of(member), ValueRange{low, high});
  }
  // Requires finite numbers.
  template <class Field>
  void add_finite(Field State::*member) {
    ranges_.emplace_back(offset_of(member), kFiniteRange);
  }
  // Requires low <= x <= high for the x packed into `bits` bits of an integer, from `first_bit` on.
  template <class Field>
  void add_bits(Field State::*member, int first_bit, int bits, double low, double high) {
    ranges_.emplace_back(
        offset_of(member),
        ValueRange{.low = low, .high = high, .first_bit = first_bit, .bits = bits});
  }

  // The ranges added for the member.
  template <class Field>
  std::vector<ValueRange> find(Field State::*member) const {
    std::vector<ValueRange> found;
    for (const auto& [offset, range] : ranges_) {
      if (offset == offset_of(member)) found.push_back(range);
    }
    return found;
  }

 private:
  // Offset of the member in State, in bytes. It identifies members of different types.
  template <class Field>
  static std::ptrdiff_t offset_of(Field State::*member) {
    const State state{};
    return reinterpret_cast<const char*>(&(state.*member)) - reinterpret_cast<const char*>(&state);
  }

  std::vector<std::pair<std::ptrdiff_t, ValueRange>> ranges_;
};

}  // namespace broadloom
