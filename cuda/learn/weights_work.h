// What the kernels share that go from derivatives of layers' outputs to those of their parameters:
// each is one chain over the rows of a partial gradient, and all of them go side by side.
#pragma once

#include <cstddef>

#include "cuda/learn/gradient_work.h"
#include "cuda/tile/backward.h"

namespace broadloom::cuda {

// What a block does for a partial gradient.
struct WeightsJob {
  // Parameters of a dense layer from input `i` and output `o` on; of a convolution, of what
  // normalises a layer and of the heads from number `i` on; of all that TensorDeltaKernel has
  // learnt of an image; and what was said of samples.
  enum Kind { kConvolution, kNorm, kHead, kValueHead, kDense, kImage, kSums };
  Kind kind;
  int side, layer, i, o;
};

template <class Sums>
struct WeightsWork {
  static constexpr int kThreads = 256;
  static constexpr int kDown = 32, kAcross = 64;  // inputs and outputs of a dense job
  static constexpr int kChunk = 32;               // rows that lie in shared memory at a time

  GradientWork<Sums> of;
  const WeightsJob* jobs;

 protected:
  // Of a partial gradient.
  struct Rows {
    const DeviceBody& body;
    const TilePlaces& at;
    const float* arrays;
    int first, count;
    float* grads;

    BROADLOOM_HD Rows(const WeightsWork& kernel, const WeightsJob& job, int p)
        : body(kernel.of.network.body(job.side)),
          at(kernel.of.at[job.side]),
          arrays(kernel.of.of_side(job.side)),
          first(p * kernel.of.rows.most),
          count(kernel.of.rows.of(p)),
          grads(kernel.of.grads + static_cast<std::size_t>(p) * kernel.of.network.parameters) {}

    // Of an array, `row` numbers a row.
    BROADLOOM_HD const float* of(int place, int row) const {
      return arrays + place + static_cast<std::size_t>(first) * row;
    }
    BROADLOOM_HD const float* inputs(int l) const {
      const int row = TilePlaces::row(body.hidden[l].row_in);
      return of(l > 0 ? at.hidden[l - 1] : at.x, row);
    }
    BROADLOOM_HD const float* derivatives(int l) const {
      const int row = TilePlaces::row(body.hidden[l].row_out());
      return of(body.norms[l].is_there() ? at.before[l] : at.delta[l], row);
    }
  };

  // What a chain goes on from.
  BROADLOOM_HD float begun(const float* of_parameter) const {
    return of.rows.is_first() ? 0.0f : *of_parameter;
  }

  static constexpr int kInputs = kChunk * kDown / 4 / kThreads;  // fours a thread
  static constexpr int kOutputs = kChunk * kAcross / 4 / kThreads;

  struct Fetched {
    Four x[kInputs], d[kOutputs];
    // So many numbers from one row to the next.
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
    int x_row, d_row, x_left, d_left;  // numbers of a row from there on, in fours
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
    BROADLOOM_HD Four four(const float* of, int row, int left, int first, int e) const {
      const int r = first + e / (kWidth / 4), column = e % (kWidth / 4) * 4;
      if (r >= count || column >= left) return {};
      return load_four(of + static_cast<std::size_t>(r) * row + column);
    }
  };

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

  // W [out, in]; kReads: of a chain at a time.
  template <int kReads>
  BROADLOOM_HD void head(const WeightsJob& job, const Rows& rows, int e) const {
    const bool is_value = job.kind == WeightsJob::kValueHead;
    const DeviceLayer& head = is_value ? rows.body.value_head : rows.body.head;
    if (e >= head.out * (head.in + 1)) return;
    const int i = e % (head.in + 1), o = e / (head.in + 1), row = TilePlaces::row(head.in);
    const bool is_weight = i < head.in;
    const float* const x = rows.of(rows.at.top(rows.body), row) + (is_weight ? i : 0);
    const float* const d = rows.arrays + (is_value ? rows.at.values : rows.at.outputs) +
                           static_cast<std::size_t>(o) * rows.at.rows + rows.first;
    float* const to = rows.grads + (is_weight ? head.weight + o * head.in + i : head.bias + o);
    float sum = begun(to);
    for (int first = 0; first < rows.count; first += kReads) {
      float of_x[kReads], of_d[kReads];  // read before any is worked on
      for (int k = 0; k < kReads; ++k) {
        const bool is_there = first + k < rows.count;
        of_x[k] = is_there ? x[(first + k) * row] : 0.0f;
        of_d[k] = is_there ? d[first + k] : 0.0f;
      }
      for (int k = 0; k < kReads && first + k < rows.count; ++k) {
        sum = is_weight ? element::mul_add(of_d[k], of_x[k], sum) : sum + of_d[k];
      }
    }
    *to = sum;
  }
  // What was said of the partial gradient's groups, and a Gaussian policy's log_std.
  BROADLOOM_HD void add_sums(const Rows& rows, int p, int thread) const {
    const int first = rows.first / of.group_rows;
    const int groups = of.groups_of(rows.count), sides = of.network.sides();
    if (thread < sides) {
      Sums& all = of.sums[p * sides + thread];
      Sums sum = of.rows.is_first() ? Sums() : all;
      for (int t = 0; t < groups; ++t) {
        sum.add(of.tile_sums[static_cast<std::size_t>(first + t) * sides + thread]);
      }
      all = sum;
    }
    if (of.network.is_discrete) return;
    const int outputs = of.network.outputs;
    for (int a = thread; a < outputs; a += kThreads) {
      float* const to = rows.grads + of.network.log_std + a;
      float sum = begun(to);
      for (int t = 0; t < groups; ++t) {
        sum += of.log_std[static_cast<std::size_t>(first + t) * outputs + a];
      }
      *to = sum;
    }
  }
};

}  // namespace broadloom::cuda
