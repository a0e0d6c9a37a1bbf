// Sums in the order in which NumPy 2 adds contiguous numbers, so that rewards have its bits.
#pragma once

#include <cstddef>

namespace broadloom::mujoco {

// term(i) of i in [begin, begin + count): fewer than 8 one by one; up to 128 in eight running sums,
// which are added as a tree, and what is left one by one; more than that in halves
// (numpy/_core/src/umath/loops_utils.h.src, pairwise summation). Number: what the sum is rounded to
// at each addition.
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

// np.sum(np.square(x)).
template <class Number>
Number sum_of_squares(const Number* x, std::size_t count) {
  return numpy_sum<Number>(0, count, [x](std::size_t i) { return x[i] * x[i]; });
}

}  // namespace broadloom::mujoco
