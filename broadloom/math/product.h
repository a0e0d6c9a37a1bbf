// The product of two matrices of a tile; layers and heads consist of such products.
//
// Every output element is one chain of multiply-adds in ascending order of the summed index.
// Nothing is allocated.
#pragma once

#include <cstddef>

namespace broadloom {

// c[m, :] = start + sum over k of a[m, k] b[k, :]. If kColumns, a's columns are read: a[k, m].
// start: one row for all (stride 0), or c itself; not read if from_zero.
template <class T, bool kColumns>
struct Product {
  const T* a;
  std::size_t a_stride;  // between two rows of a as it is stored
  const T* b;
  std::size_t b_stride;
  const T* start;
  std::size_t start_row;
  T* c;
  std::size_t c_row;
  int depth;
  bool from_zero = false;
  // For multiply_and_add_up(): one more row of output, sums[:] += sum over k of b[k, :].
  T* sums = nullptr;
  // Runs make a convolution a product without a copy of its patches. The summed index passes
  // through `runs` runs of `depth`. Each run reads a a_run numbers further on; b's rows continue
  // without a gap.
  int runs = 1;
  std::size_t a_run = 0;
  // Number of products with the same b and start. a and c advance by a_group and c_group for each.
  int groups = 1;
  std::size_t a_group = 0;
  std::size_t c_group = 0;
};

// Computes the first `rows` rows and `cols` columns of c.
void multiply(const Product<float, false>& p, int rows, int cols);
void multiply(const Product<double, false>& p, int rows, int cols);
void multiply(const Product<float, true>& p, int rows, int cols);
void multiply(const Product<double, true>& p, int rows, int cols);
// The same, and adds to p.sums.
void multiply_and_add_up(const Product<float, true>& p, int rows, int cols);
void multiply_and_add_up(const Product<double, true>& p, int rows, int cols);

}  // namespace broadloom
