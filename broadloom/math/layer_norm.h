// Layer normalisation: brings each row to mean 0 and variance 1 (Ba et al. 2016, arXiv 1607.06450).
//
// Sums over a row run over virtual lanes in a fixed tree. Sums over rows are ascending chains.
// Nothing is allocated.
#pragma once

#include <cstddef>

namespace broadloom {

// y[r, i] = gain[i] z[r, i] + bias[i], with z[r, i] = (x[r, i] - mean_r) / sqrt(variance_r +
// epsilon). The variance is the mean of squared deviations. x, y: [rows, size]; y may be x.
void layer_norm(const float* x, const float* gain, const float* bias, float epsilon, float* y,
                std::size_t rows, std::size_t size);
void layer_norm(const double* x, const double* gain, const double* bias, double epsilon, double* y,
                std::size_t rows, std::size_t size);

// Backward pass from dy [rows, size]. Adds the derivatives of gain and bias to dgain and dbias.
// Writes the derivative of x to dx, which may be dy, or null if it is not needed.
void layer_norm_backward(const float* x, const float* gain, float epsilon, const float* dy,
                         float* dx, float* dgain, float* dbias, std::size_t rows, std::size_t size);
void layer_norm_backward(const double* x, const double* gain, double epsilon, const double* dy,
                         double* dx, double* dgain, double* dbias, std::size_t rows,
                         std::size_t size);

}  // namespace broadloom
