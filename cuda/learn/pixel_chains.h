// Chains of sums over the pixels of images, one thread each, for the weight derivatives of a
// convolution. The latency of a warp's additions bounds a chain.
#pragma once

#include "broadloom/core/host_device.h"

namespace broadloom::cuda {

// The pixels of a chain: `count` rows with lines of pixels, starting at x and d.
struct Pixels {
  int lines, pixels;   // lines of a row, and pixels of a line
  int next_x, next_d;  // between two pixels
  int x_line, d_line;  // between two lines
  int x_row, d_row, count;
};
// Filters of a convolution and pixels of a line that are known at compile time, so reads are fast.
// encoder = minatar has these sizes for MinAtar's images.
inline constexpr int kUsualFilters = 16, kUsualPixels = 8;

// A line of pixels. kNext: distance of pixels in x; 0: use `next`.
template <int kNext>
struct PixelLine {
  float x[kUsualPixels], d[kUsualPixels];

  BROADLOOM_HD void read(const float* from_x, int next, const float* from_d) {
    for (int k = 0; k < kUsualPixels; ++k) {
      x[k] = from_x[k * (kNext > 0 ? kNext : next)];
      d[k] = from_d[k * kUsualFilters];
    }
  }
  template <class Add>
  BROADLOOM_HD void add_to(Add&& add) const {
    for (int k = 0; k < kUsualPixels; ++k) add(x[k], d[k]);
  }
};

// Reads a line before it works on the line before, because otherwise the chain waits for each read.
template <int kNext, class Add>
BROADLOOM_HD void over_lines(const Pixels& all, const float* x, const float* d, Add&& add) {
  if (all.count == 0) return;
  const int x_to_row = all.x_row - (all.lines - 1) * all.x_line;
  const int d_to_row = all.d_row - (all.lines - 1) * all.d_line;
  int left = all.lines;
  PixelLine<kNext> now, next;
  now.read(x, all.next_x, d);
#ifdef __CUDA_ARCH__
#pragma unroll 2
#endif
  for (int line = all.count * all.lines; line > 1; --line) {
    const bool ends = --left == 0;
    if (ends) left = all.lines;
    x += ends ? x_to_row : all.x_line;
    d += ends ? d_to_row : all.d_line;
    next.read(x, all.next_x, d);
    now.add_to(add);
    now = next;
  }
  now.add_to(add);
}

// Calls add(x, d) for all of these pixels, in order.
template <class Add>
BROADLOOM_HD void over_pixels(const Pixels& all, const float* x, const float* d, Add&& add) {
  if (all.pixels != kUsualPixels || all.next_d != kUsualFilters) {
    for (int r = 0; r < all.count; ++r) {
      for (int line = 0; line < all.lines; ++line) {
        const float *of_x = x + r * all.x_row + line * all.x_line,
                    *of_d = d + r * all.d_row + line * all.d_line;
        for (int p = 0; p < all.pixels; ++p, of_x += all.next_x, of_d += all.next_d) {
          add(*of_x, *of_d);
        }
      }
    }
    return;
  }
  // The cases are the planes of MinAtar's games, and the channels of normalised images. A lone warp
  // waits for each of its instructions, so the addresses are constants.
  switch (all.next_x) {
    case 4:
      return over_lines<4>(all, x, d, add);
    case 6:
      return over_lines<6>(all, x, d, add);
    case 7:
      return over_lines<7>(all, x, d, add);
    case 10:
      return over_lines<10>(all, x, d, add);
    case kUsualFilters:
      return over_lines<kUsualFilters>(all, x, d, add);
    default:
      return over_lines<0>(all, x, d, add);
  }
}

}  // namespace broadloom::cuda
