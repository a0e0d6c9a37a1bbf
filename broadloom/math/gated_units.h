// The gates of GRU units (Cho et al. 2014) and LSTM units (Hochreiter and Schmidhuber 1997, with
// forget gates), by the formulas of torch.nn.GRU and torch.nn.LSTM. Their products with the last
// state h' join the rows of one step only: the caller goes from step to step.
//
// From sums (x W + b) and state sums (h' U + d), each in parts of `width` numbers:
//   GRU   r = sigmoid(s1 + t1), z = sigmoid(s2 + t2), n = tanh(s3 + r t3)
//         h = n + z (h' - n)
//   LSTM  i, f, o = sigmoid of parts 1, 2, 4 of s + t; g = tanh(s3 + t3)
//         c = f c' + i g, h = o tanh(c)
//
// An element's bits depend only on the numbers above, not on its place. Nothing is allocated.
#pragma once

#include <cstddef>

namespace broadloom {

// Rows of one step. All arrays are dense; G = 3 gates of a GRU, 4 of an LSTM.
template <class Real>
struct GatedRows {
  int rows = 0, width = 0;
  const Real* gates = nullptr;       // [rows, G, width] s; in a backward pass the gates
  const Real* state_sums = nullptr;  // [rows, G, width] t
  const Real* before = nullptr;      // [rows, width] h' of a GRU, c' of an LSTM
};

// Writes the gates [rows, 3, width], which may replace s, and h [rows, width].
void gru(const GatedRows<float>& rows, float* gates, float* h);
void gru(const GatedRows<double>& rows, double* gates, double* h);
// dh [rows, width]: derivative of h; becomes that of h' without the state sums' share. d_sums and
// d_state_sums: out [rows, 3, width].
void gru_backward(const GatedRows<float>& rows, float* dh, float* d_sums, float* d_state_sums);
void gru_backward(const GatedRows<double>& rows, double* dh, double* d_sums, double* d_state_sums);

// Writes the gates [rows, 4, width], which may replace s, and c and h [rows, width].
void lstm(const GatedRows<float>& rows, float* gates, float* c, float* h);
void lstm(const GatedRows<double>& rows, double* gates, double* c, double* h);
// c: as written by lstm(). dh: derivative of h. dc: derivative of c without that of h; becomes that
// of c'. d_sums: out [rows, 4, width], derivative of both sums.
void lstm_backward(const GatedRows<float>& rows, const float* c, const float* dh, float* dc,
                   float* d_sums);
void lstm_backward(const GatedRows<double>& rows, const double* c, const double* dh, double* dc,
                   double* d_sums);

}  // namespace broadloom
