// From the derivative of a convolution's output to that of its input, by a team of threads: a
// block, or several blocks. It has the bits of convolve_backward_input (math/convolution.h).
#pragma once

#include "broadloom/math/element_functions.h"
#include "cuda/sides/kernel.h"
#include "cuda/tile/network.h"
#include "cuda/tile/params.h"
#include "cuda/tile/product.h"

namespace broadloom::cuda {

// Sizes of a convolution without padding.
struct ConvolutionSizes {
  int height, width, channels;  // of the input image
  int kernel, stride;
  int down, across;  // output pixels

  BROADLOOM_HD explicit ConvolutionSizes(const DeviceLayer& layer) {
    const Patches& patches = layer.patches;
    height = layer.row_in / patches.next_run;
    down = patches.down;
    across = patches.across;
    stride = patches.next_down / patches.next_run;
    channels = patches.next_across / stride;
    width = patches.next_run / channels;
    kernel = patches.run / channels;
  }
};

// Input pixels of one line that lie a multiple of the stride apart. An output pixel meets each of
// them with another column of the kernel, and the same output pixels meet all of a line. Each sum
// runs over the kernel's rows and columns from last to first, and over the filters within.
struct LinePhase {
  int row, y, phase;  // row of the tile, line, and column of the first pixel
  int first;          // of the pixels at hand, in multiples of the stride

  BROADLOOM_HD int x(const ConvolutionSizes& sizes, int k) const {
    return (first + k) * sizes.stride + phase;
  }
};

// Calls f(offset of the patch's numbers in W, line of output pixels, output column of pixel 0) for
// each place of the kernel that meets the pixels, in order. Lines outside the image are left out,
// as on the host; columns outside of it count as zeros.
template <class F>
BROADLOOM_HD void over_taps(const ConvolutionSizes& sizes, const LinePhase& pixels, F&& f) {
  const int stride = sizes.stride, of_line = pixels.y % stride;
  const int taps_down = (sizes.kernel - of_line + stride - 1) / stride;
  const int taps_across = (sizes.kernel - pixels.phase + stride - 1) / stride;
  for (int down = taps_down - 1; down >= 0; --down) {
    const int line = pixels.y / stride - down;
    if (line < 0 || line >= sizes.down) continue;
    for (int across = taps_across - 1; across >= 0; --across) {
      const int place = (of_line + down * stride) * sizes.kernel + pixels.phase + across * stride;
      f(place * sizes.channels, line, pixels.first - across);
    }
  }
}

// The derivative before the activation of y [rows, row_in], the output of the layer below: below =
// activation'(y) times the derivative of the convolution's input. delta [rows, row_out].
template <class Team>
BROADLOOM_HD void backward_convolution(const Team& team, const DeviceLayer& layer,
                                       Activation activation, const TileParams& params,
                                       const float* y, const float* delta, int rows, float* below) {
  const ConvolutionSizes sizes(layer);
  const int y_row = TilePlaces::row(layer.row_in), d_row = TilePlaces::row(layer.row_out());
  const int filters = layer.out, channels = sizes.channels, stride = sizes.stride;
  const int per_phase = (sizes.width + stride - 1) / stride;  // pixels, at most
  const auto offset = [&](const LinePhase& pixels, int k) {
    return pixels.row * y_row + (pixels.y * sizes.width + pixels.x(sizes, k)) * channels;
  };
  // Pixels in groups of `kPixels`, each with all channels in groups of `kChannels`.
  const auto over_groups = [&](int of_pixels, int of_channels, auto&& f) {
    const int across = channels / of_channels, groups = (per_phase + of_pixels - 1) / of_pixels;
    const int per_row = sizes.height * stride * groups * across;
    for (int e = team.thread(); e < rows * per_row; e += team.threads()) {
      const int group = e % per_row / across;
      const LinePhase pixels{e / per_row, group / (stride * groups), group / groups % stride,
                             group % groups * of_pixels};
      if (pixels.x(sizes, 0) < sizes.width) f(pixels, e % across * of_channels);
    }
  };
  const bool in_fours = params.transposed != nullptr && (channels | filters | layer.in) % 4 == 0 &&
                        holds_fours(params.transposed_at(layer.weight));
  if (!in_fours) {
    const float* const w = params.at(layer.weight);
    return over_groups(1, 1, [&](const LinePhase& pixel, int channel) {
      float sum = 0.0f;
      over_taps(sizes, pixel, [&](int patch, int line, int column) {
        const bool is_there = column >= 0 && column < sizes.across;
        const float* const of_w = w + (patch + channel) * filters;
        const float* const d =
            delta + pixel.row * d_row + (line * sizes.across + (is_there ? column : 0)) * filters;
        for (int o = 0; o < filters; ++o) {
          sum = element::mul_add(is_there ? d[o] : 0.0f, of_w[o], sum);
        }
      });
      const int place = offset(pixel, 0) + channel;
      below[place] = element::activate_backward(activation, y[place], sum);
    });
  }
  constexpr int kPixels = 4;
  const float* const w = params.transposed_at(layer.weight);
  over_groups(kPixels, 4, [&](const LinePhase& pixels, int channel) {
    float sums[kPixels][4] = {};
    over_taps(sizes, pixels, [&](int patch, int line, int column) {
      const float* const d = delta + pixels.row * d_row + line * sizes.across * filters;
      const float* sources[kPixels];
      bool are_there[kPixels];
      for (int k = 0; k < kPixels; ++k) {
        are_there[k] = column + k >= 0 && column + k < sizes.across;
        sources[k] = d + (are_there[k] ? column + k : 0) * filters;
      }
      const float* weights = w + patch + channel;
      for (int o = 0; o < filters; o += 4, weights += 4 * layer.in) {
        RunPart<kPixels> part;
        part.read(sources, weights, layer.in, 0);
        for (int k = 0; k < kPixels; ++k) {
          if (!are_there[k]) part.x[k] = {};
          sources[k] += 4;
        }
        part.add_to(sums);
      }
    });
    for (int k = 0; k < kPixels && pixels.x(sizes, k) < sizes.width; ++k) {
      const int place = offset(pixels, k) + channel;
      store_four(derivatives(activation, load_four(y + place), sums[k]), below + place);
    }
  });
}

}  // namespace broadloom::cuda
