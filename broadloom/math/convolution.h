// The products of a convolution over one image, without a copy of its patches (no im2col).
//
// An image is [height, width, channels], row-major and dense, so a patch is `kernel` runs of kernel
// * channels numbers. Weights are [kernel, kernel, channels, filters]. As in linear.h, every output
// element is one chain of multiply-adds in ascending order of the summed index. Numbers outside the
// image are zero and take part in the sums. Nothing is allocated.
#pragma once

#include <cstddef>

namespace broadloom {

struct ConvolutionShape {
  int height = 0, width = 0, channels = 0;  // size of the input image
  int filters = 0;
  int kernel = 1;   // side length
  int stride = 1;   // at most `kernel`
  int padding = 0;  // rows and columns of zeros on each side, fewer than `kernel`

  int out_height() const { return (height + 2 * padding - kernel) / stride + 1; }
  int out_width() const { return (width + 2 * padding - kernel) / stride + 1; }
  // Whether a patch fits into the image.
  bool fits() const { return height + 2 * padding >= kernel && width + 2 * padding >= kernel; }
  int patch() const { return kernel * kernel * channels; }
  std::size_t in_size() const { return size(height, width, channels); }
  std::size_t out_size() const { return size(out_height(), out_width(), filters); }
  // Numbers of scratch that each function below needs.
  std::size_t scratch_size() const;

 private:
  static std::size_t size(int h, int w, int c) {
    return static_cast<std::size_t>(h) * static_cast<std::size_t>(w) * static_cast<std::size_t>(c);
  }
};

// y[oy, ox, f] = b[f] + sum over ky, kx, c of
//   x[oy stride - padding + ky, ox stride - padding + kx, c] w[ky, kx, c, f].
// x: [in_size()], y: [out_size()], b: [filters].
void convolve(const ConvolutionShape& shape, const float* x, const float* w, const float* b,
              float* y, float* scratch);
void convolve(const ConvolutionShape& shape, const double* x, const double* w, const double* b,
              double* y, double* scratch);

// Adds the derivatives of w and b, given dy, the derivative of y. Sums run over oy, then ox.
void convolve_backward_weights(const ConvolutionShape& shape, const float* x, const float* dy,
                               float* dw, float* db, float* scratch);
void convolve_backward_weights(const ConvolutionShape& shape, const double* x, const double* dy,
                               double* dw, double* db, double* scratch);

// Writes the derivative of x, given dy. Sums run over ky and kx, each descending, then f. turned:
// weights written by turn_weights().
void convolve_backward_input(const ConvolutionShape& shape, const float* dy, const float* turned,
                             float* dx, float* scratch);
void convolve_backward_input(const ConvolutionShape& shape, const double* dy, const double* turned,
                             double* dx, double* scratch);

// The weights as convolve_backward_input() reads them; the same count of numbers.
void turn_weights(const ConvolutionShape& shape, const float* w, float* turned);
void turn_weights(const ConvolutionShape& shape, const double* w, double* turned);

}  // namespace broadloom
