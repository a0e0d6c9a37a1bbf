// Max pooling of one image, channel by channel. Images are as in convolution.h. Numbers outside the
// image take no part.
#pragma once

#include <cstddef>

namespace broadloom {

struct PoolShape {
  int height = 0, width = 0, channels = 0;
  int kernel = 1, stride = 1;
  int padding = 0;  // less than `kernel`

  int out_height() const { return (height + 2 * padding - kernel) / stride + 1; }
  int out_width() const { return (width + 2 * padding - kernel) / stride + 1; }
};

// x: [height, width, channels], y: [out_height(), out_width(), channels]. NaN counts as the
// largest.
void max_pool(const PoolShape& shape, const float* x, float* y);
void max_pool(const PoolShape& shape, const double* x, double* y);

// Overwrites dx with the derivative of x. Each window's derivative goes to its first largest
// number, row by row.
void max_pool_backward(const PoolShape& shape, const float* x, const float* dy, float* dx);
void max_pool_backward(const PoolShape& shape, const double* x, const double* dy, double* dx);

}  // namespace broadloom
