// The largest of each window of an image, channel by channel. Images as in convolution.h; what lies
// outside takes no part.
#pragma once

#include <cstddef>

namespace broadloom {

struct PoolShape {
  int height = 0, width = 0, channels = 0;
  int kernel = 1, stride = 1;
  int padding = 0;  // fewer than `kernel`

  int out_height() const { return (height + 2 * padding - kernel) / stride + 1; }
  int out_width() const { return (width + 2 * padding - kernel) / stride + 1; }
};

// x: [height, width, channels], y: [out_height(), out_width(), channels]. What is not a number is
// the largest.
void max_pool(const PoolShape& shape, const float* x, float* y);
void max_pool(const PoolShape& shape, const double* x, double* y);

// dx, which is written anew: of a window's numbers the first that is the largest, row by row, takes
// its derivative.
void max_pool_backward(const PoolShape& shape, const float* x, const float* dy, float* dx);
void max_pool_backward(const PoolShape& shape, const double* x, const double* dy, double* dx);

}  // namespace broadloom
