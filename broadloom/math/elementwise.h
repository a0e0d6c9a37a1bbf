// Elementwise functions over flat arrays. An element's result depends only on that element, never
// on its position or the vector tail.
#pragma once

#include <cstddef>

namespace broadloom {

enum class Activation { kTanh, kRelu, kElu };

// x[i] = f(x[i]).
void activate(Activation activation, float* x, std::size_t n);
void activate(Activation activation, double* x, std::size_t n);

// dy[i] *= f'(x), where y[i] = f(x). Computed from the output y.
void activate_backward(Activation activation, const float* y, float* dy, std::size_t n);
void activate_backward(Activation activation, const double* y, double* dy, std::size_t n);

// sum[i] += x[i].
void add_into(float* sum, const float* x, std::size_t n);
void add_into(double* sum, const double* x, std::size_t n);

// sum[i] += x[i] * y[i].
void add_products(float* sum, const float* x, const float* y, std::size_t n);
void add_products(double* sum, const double* x, const double* y, std::size_t n);

// Sum of x[i] * y[i] in a fixed order: one chain per virtual lane, then pairwise.
float dot(const float* x, const float* y, std::size_t n);
double dot(const double* x, const double* y, std::size_t n);

// Sum of x[i]^2 in double, in a fixed order: 32 interleaved chains, then pairwise.
double sum_squares(const float* x, std::size_t n);

// The next two functions treat rows of D numbers as one long array. Arrays [period] repeat the D
// columns, so element i belongs to place i % period. period is a multiple of 16.
//
// sum[place] += x[i] - mean[place];   squares[place] += (x[i] - mean[place])^2
void add_moments(const float* x, std::size_t n, std::size_t period, const double* mean, double* sum,
                 double* squares);
// y[i] = (x[i] - mean[place]) * scale[place], clipped to +- limit. y may be x.
void standardise(const float* x, std::size_t n, std::size_t period, const double* mean,
                 const double* scale, float limit, float* y);

// Whether every x[i] is a finite number.
bool all_finite(const float* x, std::size_t n);

}  // namespace broadloom
