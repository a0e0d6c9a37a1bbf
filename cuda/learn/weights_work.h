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
  // on. kImage: the image gradients of TensorDeltaKernel. kSums: the loss sums.
  enum Kind { kConvolution, kNorm, kHead, kValueHead, kDense, kPatches, kImage, kSums };
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
      return array(l > 0 ? places.hidden[l - 1] : places.x, row);
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
