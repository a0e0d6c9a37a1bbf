// Sums in NumPy 2's order for contiguous numbers, so that rewards have the same bits.
#pragma once

#include <cstddef>

namespace broadloom::mujoco {

// The sum of term(i) for i in [begin, begin + count). Fewer than 8 terms are added one by one. Up
// to 128 use eight running sums, added as a tree, with the rest one by one. More are split into
// halves (pairwise summation, numpy/_core/src/umath/loops_utils.h.src). Each addition rounds to
// Number.
template <class Number, class Term>
Number numpy_sum(std::size_t begin, std::size_t count, const Term& term) {
  constexpr std::size_t kLanes = 8, kBlock = 128;
  if (count < kLanes) {
    Number sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += term(begin + i);
    return sum;
  }
  if (count > kBlock) {
    const std::size_t half = count / 2 - count / 2 % kLanes;
    return numpy_sum<Number>(begin, half, term) +
           numpy_sum<Number>(begin + half, count - half, term);
  }
  Number lanes[kLanes];
  for (std::size_t k = 0; k < kLanes; ++k) lanes[k] = term(begin + k);
  std::size_t i = kLanes;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) lanes[k] += term(begin + i + k);
  }
  Number sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
               ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  for (; i < count; ++i) sum += term(begin + i);
  return sum;
}

// Computes np.sum(np.square(x)).
template <class Number>
Number sum_of_squares(const Number* x, std::size_t count) {
  return numpy_sum<Number>(0, count, [x](std::size_t i) { return x[i] * x[i]; });
}

}  // namespace broadloom::mujoco
