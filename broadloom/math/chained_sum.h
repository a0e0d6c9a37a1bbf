// Sums of many terms in double.
#pragma once

#include <cstddef>

namespace broadloom {

// Sum of term(i) for i below count. Eight interleaved chains need not wait for each other. The
// order of additions depends only on count.
template <class Term>
double chained_sum(std::size_t count, Term term) {
  double chains[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) chains[k] += term(i + k);
  }
  for (; i < count; ++i) chains[i % 8] += term(i);
  double sum = 0.0;
  for (const double chain : chains) sum += chain;
  return sum;
}

}  // namespace broadloom
