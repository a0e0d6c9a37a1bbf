// The chain of a minimal gated recurrent unit (MinGRU: Feng et al. 2024, arXiv 2410.01201; with the
// highway of PufferLib 5). A unit's state is a convex mix of its last state and a candidate. No
// product involves the state, so each unit is a chain of its own.
//
// A unit with input x and sums (a, g, p) = x W + b, before its state h' and after it h:
//   candidate c = a >= 0 ? a + 1/2 : sigmoid(a)
//   h = h' + sigmoid(g) (c - h')
//   y = x + sigmoid(p) (h - x)
//
// An element's bits depend only on the numbers above, not on its place. Nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadloom {

// Rows of several sequences, in order of time: row r is step r / sequences of sequence
// r % sequences.
template <class Real>
struct MinGruRows {
  int rows = 0, sequences = 0, width = 0;
  const Real* x = nullptr;     // [rows, width]
  const Real* sums = nullptr;  // [rows, 3, width]: a, g, p
  // The state before the first row of sequence s begins at before + s * stride.
  const Real* before = nullptr;
  std::size_t stride = 0;
  const std::uint8_t* begins = nullptr;  // [rows] 1: the state before this row is 0
};

// Writes the states after each row and the outputs y, both [rows, width].
void min_gru(const MinGruRows<float>& rows, float* states, float* y);
void min_gru(const MinGruRows<double>& rows, double* states, double* y);

// Backward pass, last row first. states: as written by min_gru(). dy [rows, width]: derivative of
// the outputs; becomes the derivative of x through the highway alone. d_sums: out [rows, 3, width].
// carried: [sequences] rows of width numbers, `stride` apart: the derivative of the states after
// the last rows; becomes that of the states before the first rows.
void min_gru_backward(const MinGruRows<float>& rows, const float* states, float* dy, float* d_sums,
                      float* carried);
void min_gru_backward(const MinGruRows<double>& rows, const double* states, double* dy,
                      double* d_sums, double* carried);

}  // namespace broadloom
