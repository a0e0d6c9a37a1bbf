// All inner products of per-sample gradients, from their factors:
//   <g_i, g_j> = sum over linear layers of (delta_i . delta_j)(input_i . input_j + 1)
//                + extra_i . extra_j
// No gradient of P numbers is ever formed: a pair costs the sum of the layers' widths instead of P.
#pragma once

#include <vector>

#include "broadloom/core/thread_pool.h"
#include "broadloom/instruments/gradient/factors.h"

namespace broadloom {

// Computes the matrix kTileRows x kTileRows entries at a time; use one per thread. A matrix that
// does not fit into memory is processed tile by tile and never stored.
template <class Real>
class GramTiles {
 public:
  // Prepares for tiles whose columns are the rows [first, first + count) of `factors`, count <=
  // kTileRows. The factors must not change until the last tile() with them.
  void set_columns(const GradientFactors<Real>& factors, int first, int count);

  // out [rows, count]: inner products of rows [first, first + rows) with the columns; rows <=
  // kTileRows.
  void tile(int first, int rows, Real* out);

 private:
  const GradientFactors<Real>* factors_ = nullptr;
  int count_ = 0;
  std::vector<std::vector<Real>> inputs_, deltas_;  // of the columns, transposed: [width, count]
  std::vector<Real> extras_, part_;
  std::vector<Real> ones_, products_, delta_products_;
};

// gram [rows, rows], symmetric, of all rows. Cost: rows^2 times the sum of the layers' widths,
// halved by symmetry.
void gram_matrix(const GradientFactors<float>& factors, ThreadPool& pool, float* gram);

}  // namespace broadloom
