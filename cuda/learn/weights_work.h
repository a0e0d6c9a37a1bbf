// Shared code of the kernels that compute parameter derivatives from the derivatives of layers'
// outputs. Each parameter is one chain over the rows of a partial gradient; all chains run in
// parallel.
#pragma once

#include <cstddef>

#include "cuda/learn/gradient_work.h"
#include "cuda/tile/backward.h"

namespace broadloom::cuda {

// One block's work for a partial gradient.
struct WeightsJob {
  // kDense: parameters of a dense layer from input `i` and output `o` on. kPatches: the same of a
  // convolution, whose rows are patches in fours. kConvolution, kNorm and heads: from number `i`
  // on. kResidual: as kPatches, of a convolution of residual sections; layer counts those. kImage:
  // the image gradients of TensorDeltaKernel. kSums: the loss sums.
  enum Kind { kConvolution, kNorm, kHead, kValueHead, kDense, kPatches, kResidual, kImage, kSums };
  Kind kind;
  int side, layer, i, o;
};

template <class Sums>
struct WeightsWork {
  static constexpr int kThreads = 256;
  static constexpr int kDown = 32, kAcross = 64;  // inputs and outputs of a dense job
  static constexpr int kChunk = 32;               // rows in shared memory at a time

  GradientWork<Sums> work;
  const WeightsJob* jobs;

 protected:
  // The rows of a partial gradient.
  struct Rows {
    const DeviceBody& body;
    const TilePlaces& places;
    const float* arrays;
    int first, count;
    float* grads;

    BROADLOOM_HD Rows(const WeightsWork& kernel, const WeightsJob& job, int p)
        : body(kernel.work.network.body(job.side)),
          places(kernel.work.places[job.side]),
          arrays(kernel.work.of_side(job.side)),
          first(p * kernel.work.rows.most),
          count(kernel.work.rows.rows_of(p)),
          grads(kernel.work.grads + static_cast<std::size_t>(p) * kernel.work.network.parameters) {}

    // This partial gradient's rows of an array with `row` numbers per row.
    BROADLOOM_HD const float* array(int place, int row) const {
      return arrays + place + static_cast<std::size_t>(first) * row;
    }
    BROADLOOM_HD const float* inputs(int l) const {
      const int row = TilePlaces::row(body.hidden[l].row_in);
      return array(l > 0 ? places.hidden[l - 1] : places.inputs, row);
    }
    BROADLOOM_HD const float* derivatives(int l) const {
      const int row = TilePlaces::row(body.hidden[l].row_out());
      return array(body.norms[l].is_there() ? places.before[l] : places.delta[l], row);
    }
  };

  // The start of a chain: 0, or the sum of earlier passes.
  BROADLOOM_HD float begun(const float* of_parameter) const {
    return work.rows.is_first() ? 0.0f : *of_parameter;
  }

  static constexpr int kInputs = kChunk * kDown / 4 / kThreads;  // fours per thread
  static constexpr int kOutputs = kChunk * kAcross / 4 / kThreads;

  struct Fetched {
    Four x[kInputs], d[kOutputs];
    // kRowX, kRowD: distance between two rows.
    template <int kRowX, int kRowD>
    BROADLOOM_HD void put(float* to_x, float* to_d, int thread) const {
      const auto place = [](int e, int width, int row) {
        return e / (width / 4) * row + e % (width / 4) * 4;
      };
      for (int k = 0; k < kInputs; ++k) {
        store_four(x[k], to_x + place(thread + k * kThreads, kDown, kRowX));
      }
      for (int k = 0; k < kOutputs; ++k) {
        store_four(d[k], to_d + place(thread + k * kThreads, kAcross, kRowD));
      }
    }
  };
  struct Panel {
    const float *x, *d;
    int x_row, d_row, x_left, d_left;  // remaining numbers of a row, in multiples of four
    int count;

    BROADLOOM_HD Fetched fetch(int first, int thread) const {
      Fetched made;
      for (int k = 0; k < kInputs; ++k) {
        made.x[k] = four<kDown>(x, x_row, x_left, first, thread + k * kThreads);
      }
      for (int k = 0; k < kOutputs; ++k) {
        made.d[k] = four<kAcross>(d, d_row, d_left, first, thread + k * kThreads);
      }
      return made;
    }

   private:
    template <int kWidth>
    BROADLOOM_HD Four four(const float* source, int row, int left, int first, int e) const {
      const int r = first + e / (kWidth / 4), column = e % (kWidth / 4) * 4;
      if (r >= count || column >= left) return {};
      return load_four(source + static_cast<std::size_t>(r) * row + column);
    }
  };

  // A convolution's patches as rows, pixel by pixel.
  struct PatchPanel {
    const float *x, *d;
    int x_row, d_row, i, o, in, filters;
    Patches patches;
    int count;

    BROADLOOM_HD Fetched fetch(int first, int thread) const {
      Fetched made;
      for (int k = 0; k < kInputs; ++k) {
        const int e = thread + k * kThreads, number = i + e % (kDown / 4) * 4;
        const Place place = place_of(first + e / (kDown / 4));
        const bool is_there = place.row >= 0 && number < in;
        made.x[k] =
            is_there
                ? load_four(x + place.row * x_row + patches.begin(place.pixel) + patches.at(number))
                : Four{};
      }
      for (int k = 0; k < kOutputs; ++k) {
        const int e = thread + k * kThreads, filter = o + e % (kAcross / 4) * 4;
        const Place place = place_of(first + e / (kAcross / 4));
        const bool is_there = place.row >= 0 && filter < filters;
        made.d[k] =
            is_there ? load_four(d + place.row * d_row + place.pixel * filters + filter) : Four{};
      }
      return made;
    }

   private:
    struct Place {
      std::ptrdiff_t row;  // -1: there is none
      int pixel;
    };
    BROADLOOM_HD Place place_of(int r) const {
      if (r >= count) return {-1, 0};
      return {r / patches.count(), r % patches.count()};
    }
  };
  BROADLOOM_HD static PatchPanel patch_panel_of(const WeightsJob& job, const Rows& rows) {
    const DeviceLayer& layer = rows.body.hidden[job.layer];
    return {rows.inputs(job.layer),
            rows.derivatives(job.layer),
            TilePlaces::row(layer.row_in),
            TilePlaces::row(layer.row_out()),
            job.i,
            job.o,
            layer.in,
            layer.out,
            layer.patches,
            rows.count * layer.patches.count()};
  }

  // Patches of a convolution that zeros surround.
  struct SamePanel {
    const float *x, *d;
    int x_row, d_row, i, o;
    SameConvolution layer;
    int count;

    BROADLOOM_HD Fetched fetch(int first, int thread) const {
      Fetched made;
      for (int k = 0; k < kInputs; ++k) {
        const int e = thread + k * kThreads;
        made.x[k] = inputs(first + e / (kDown / 4), i + e % (kDown / 4) * 4);
      }
      for (int k = 0; k < kOutputs; ++k) {
        const int e = thread + k * kThreads, filter = o + e % (kAcross / 4) * 4;
        const int r = first + e / (kAcross / 4);
        const bool is_there = r < count && filter < layer.filters;
        made.d[k] = is_there ? load_four(d + static_cast<std::size_t>(r / layer.pixels()) * d_row +
                                         r % layer.pixels() * layer.filters + filter)
                             : Four{};
      }
      return made;
    }

   private:
    // Four numbers of a patch. They are neighbours in the image too, if channels come in fours.
    BROADLOOM_HD Four inputs(int r, int number) const {
      Four made{};
      if (r >= count) return made;
      const int pixel = r % layer.pixels();
      const float* const image = x + static_cast<std::size_t>(r / layer.pixels()) * x_row;
      const auto source = [&](int n) -> const float* {
        const int tap = n / layer.channels;
        const int line = pixel / layer.width + tap / 3 - 1,
                  column = pixel % layer.width + tap % 3 - 1;
        const bool is_there = n < layer.patch() && line >= 0 && line < layer.height &&
                              column >= 0 && column < layer.width;
        if (!is_there) return nullptr;
        return image + (line * layer.width + column) * layer.channels + n % layer.channels;
      };
      if (layer.channels % 4 == 0) {
        const float* const four = source(number);
        return four != nullptr ? load_four(four) : made;
      }
      for (int k = 0; k < 4; ++k) {
        const float* const one = source(number + k);
        if (one != nullptr) made.values[k] = *one;
      }
      return made;
    }
  };
  BROADLOOM_HD static SameConvolution same_convolution(const WeightsJob& job, const Rows& rows) {
    constexpr int kEach = ResidualSection::kConvolutions;
    return rows.body.residual.sections[job.layer / kEach].convolution(job.layer % kEach);
  }
  BROADLOOM_HD static SamePanel same_panel_of(const WeightsJob& job, const Rows& rows) {
    constexpr int kEach = ResidualSection::kConvolutions;
    const int s = job.layer / kEach, c = job.layer % kEach;
    const ResidualPlaces& places = rows.places.residual;
    const ResidualStep step{rows.body.residual, places, rows.places.x, s, c > 0 ? c + 1 : 0};
    const SameConvolution layer = same_convolution(job, rows);
    const int x_row = padded_row(layer.pixels() * layer.channels);
    const int d_row = padded_row(layer.pixels() * layer.filters);
    return {rows.array(step.input(), x_row),
            rows.array(step.own().output_delta(c), d_row),
            x_row,
            d_row,
            job.i,
            job.o,
            layer,
            rows.count * layer.pixels()};
  }

  BROADLOOM_HD static Panel panel_of(const WeightsJob& job, const Rows& rows) {
    const DeviceLayer& layer = rows.body.hidden[job.layer];
    const int x_row = TilePlaces::row(layer.in), d_row = TilePlaces::row(layer.out);
    return {rows.inputs(job.layer) + job.i,
            rows.derivatives(job.layer) + job.o,
            x_row,
            d_row,
            x_row - job.i,
            d_row - job.o,
            rows.count};
  }
};

}  // namespace broadloom::cuda
