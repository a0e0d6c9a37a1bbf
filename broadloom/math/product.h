// The product of two matrices of a tile, of which layers and heads are made.
//
// Every output element is one chain of multiply-adds in ascending order of the summed index.
// Nothing is allocated.
#pragma once

#include <cstddef>

namespace broadloom {

// c[m, :] = start + sum over k of a[m, k] b[k, :], or of a[k, m] b[k, :] when kColumns: then a's
// columns are read. start: one row for all (stride 0), or c itself; not read when from_zero.
template <class T, bool kColumns>
struct Product {
  const T* a;
  std::size_t a_stride;  // from one row of a to the next, whichever way it is read
  const T* b;
  std::size_t b_stride;
  const T* start;
  std::size_t start_row;
  T* c;
  std::size_t c_row;
  int depth;
  bool from_zero = false;
  // multiply_and_add_up: one row of output more, sums[:] += sum over k of b[k, :].
  T* sums = nullptr;
  // What lets a convolution be a product without a copy of its patches. The summed index runs
  // through `runs` runs of `depth`, for each of which a is read a_run numbers further on; b's rows
  // go on without a break.
  int runs = 1;
  std::size_t a_run = 0;
  // So many products with the same b and start, each with a and c so much further on.
  int groups = 1;
  std::size_t a_group = 0;
  std::size_t c_group = 0;
};

// The first `rows` rows and `cols` columns of c.
void multiply(const Product<float, false>& p, int rows, int cols);
void multiply(const Product<double, false>& p, int rows, int cols);
void multiply(const Product<float, true>& p, int rows, int cols);
void multiply(const Product<double, true>& p, int rows, int cols);
// The same, and p.sums.
void multiply_and_add_up(const Product<float, true>& p, int rows, int cols);
void multiply_and_add_up(const Product<double, true>& p, int rows, int cols);

}  // namespace broadloom
