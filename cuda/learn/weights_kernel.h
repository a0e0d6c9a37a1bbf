// From derivatives of layers' outputs to those of their parameters, with the bits of
// ActorCritic::backward.
#pragma once

#include "cuda/learn/pixel_chains.h"
#include "cuda/learn/weights_work.h"

namespace broadloom::cuda {

template <class Sums>
struct WeightsKernel : WeightsWork<Sums> {
  using Work = WeightsWork<Sums>;
  using typename Work::Rows, typename Work::Fetched;
  using Work::kThreads, Work::kDown, Work::kAcross, Work::kChunk;
  using Work::same_convolution, Work::same_panel_of;
  using Work::work, Work::jobs, Work::begun, Work::panel_of, Work::patch_panel_of;

  // Threads of a block with chains over the pixels of images. They are two warps, so that their
  // reads of shared memory do not delay each other; the other threads copy the rows.
  static constexpr int kChains = 64;

  static KernelShape shape(const DeviceNetwork& network, int jobs, int partials) {
    return {jobs * partials, kThreads, sizeof(float) * 2 * row_floats(network)};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int p = block.index() % work.rows.own;
    const WeightsJob job = jobs[block.index() / work.rows.own];
    const Rows rows(*this, job, p);
    if (job.kind == WeightsJob::kDense) {
      return panel(block, job, rows, rows.body.hidden[job.layer], panel_of(job, rows));
    }
    if (job.kind == WeightsJob::kPatches) {
      return panel(block, job, rows, rows.body.hidden[job.layer], patch_panel_of(job, rows));
    }
    if (job.kind == WeightsJob::kResidual) {
      const SameConvolution layer = same_convolution(job, rows);
      return panel(block, job, rows,
                   DeviceLayer{layer.patch(), layer.filters, layer.weight, layer.bias(), 0, {}},
                   same_panel_of(job, rows));
    }
    if (job.kind == WeightsJob::kConvolution) return convolution(block, job, rows);
    if (job.kind == WeightsJob::kNorm) return norm(block, job, rows);
    if (job.kind == WeightsJob::kSums) return add_sums(rows, p, block.thread());
    head(job, rows, job.i + block.thread());
  }

  // Whether convolution l is computed by kPatches: if its numbers lie in fours, except for the
  // first one of images that fit into shared memory.
  static bool takes_patches(const DeviceLayer& layer, int l) {
    const int both = TilePlaces::row(layer.row_in) + TilePlaces::row(layer.row_out());
    const bool are_in_fours = layer.patches.are_in_fours() && layer.out % 4 == 0;
    return are_in_fours && (l > 0 || both > kMostRowFloats);
  }

 private:
  // Chunks of rows are copied to shared memory while the chunk before is used. Eight parameters per
  // thread: with more, there are too few threads to hide the waits.
  template <class Block, class Panel>
  BROADLOOM_HD void panel(Block& block, const WeightsJob& job, const Rows& rows,
                          const DeviceLayer& layer, const Panel& panel) const {
    const int lane = block.thread() % kWarp, warp = block.thread() / kWarp;
    const int i = (warp / 2 * 4 + lane / 8) * kSquare, o = (warp % 2 * 8 + lane % 8) * 4;
    const bool has_bias = job.i == 0 && block.thread() < kAcross;
    float* const weights = rows.grads + layer.weight + (job.i + i) * layer.out + job.o + o;
    float* const bias = rows.grads + layer.bias + job.o + block.thread();
    const int inputs = layer.in - job.i - i, outputs = layer.out - job.o - o;  // remaining
    float sums[kSquare][4], bias_sum = 0.0f;
    for (int k = 0; k < kSquare; ++k) {
      for (int c = 0; c < 4; ++c) {
        sums[k][c] = k < inputs && c < outputs ? begun(weights + k * layer.out + c) : 0.0f;
      }
    }
    const bool keeps_bias = has_bias && job.o + block.thread() < layer.out;
    if (keeps_bias) bias_sum = begun(bias);
    float* const shared = block.template shared<float>();
    Fetched next = panel.fetch(0, block.thread());
    for (int first = 0, turn = 0; first < panel.count; first += kChunk, turn ^= 1) {
      float* const x = shared + turn * kChunk * (kDown + kAcross);
      float* const d = x + kChunk * kDown;
      next.template put<kDown, kAcross>(x, d, block.thread());
      block.sync();  // after it, no thread works on the other chunk's data
      next = panel.fetch(first + kChunk, block.thread());
      const int left = panel.count - first, count = left < kChunk ? left : kChunk;
      add_outer(x + i, d + o, count, sums);
      for (int r = 0; has_bias && r < count; ++r) bias_sum += d[r * kAcross + block.thread()];
    }
    for (int k = 0; k < kSquare; ++k) {
      for (int c = 0; c < 4; ++c) {
        if (k < inputs && c < outputs) weights[k * layer.out + c] = sums[k][c];
      }
    }
    if (keeps_bias) *bias = bias_sum;
  }

  static constexpr int kSquare = 2;  // inputs per thread

  // sums at (i, o) += x[r][i] d[r][o] over rows.
  BROADLOOM_HD static void add_outer(const float* x, const float* d, int rows,
                                     float (&sums)[kSquare][4]) {
#ifdef __CUDA_ARCH__
#pragma unroll 8
#endif
    for (int r = 0; r < rows; ++r) {
      const Four of_d = load_four(d + r * kAcross);
      for (int k = 0; k < kSquare; ++k) {
        const float of_x = x[r * kDown + k];
        for (int c = 0; c < 4; ++c) sums[k][c] = element::mul_add(of_x, of_d.values[c], sums[k][c]);
      }
    }
  }

  // Floats of rows in shared memory while the next rows are copied. Several rows of images fit;
  // with fewer, the waits exceed the work.
  static constexpr int kMostRowFloats = 8192;
  static_assert(2 * sizeof(float) * kMostRowFloats <= 64 * 1024, "a block of any device has that");
  BROADLOOM_HD static int row_floats(const DeviceNetwork& network) {
    return network.actor.begins_with_image() ? kMostRowFloats : kChunk * (kDown + kAcross);
  }

  // Passes rows of two arrays, [count, a_row] and [count, b_row], through shared memory, as many at
  // a time as fit. The threads below kChains call f(a, b, rows) for each portion. If not even one
  // row fits, f gets all rows in place.
  template <class Block, class F>
  BROADLOOM_HD void over_rows(Block& block, int count, const float* a, int a_row, const float* b,
                              int b_row, F&& f) const {
    const int room = row_floats(work.network), at_once = room / (a_row + b_row);
    if (at_once == 0) return f(a, b, block.thread() < kChains ? count : 0);
    float* const shared = block.template shared<float>();
    const int bringing = block.thread() - kChains;
    const auto rows_from = [&](int first) {
      return count - first < at_once ? count - first : at_once;
    };
    const auto bring = [&](int first, float* target) {
      const int of_a = rows_from(first) * a_row, all = of_a + rows_from(first) * b_row;
      for (int e = 4 * bringing; e < all; e += 4 * (kThreads - kChains)) {
        const float* const source =
            e < of_a ? a + first * a_row + e : b + first * b_row + (e - of_a);
        block.copy_ahead(target + e, source);
      }
    };
    if (bringing >= 0) bring(0, shared);
    for (int first = 0, turn = 0; first < count; first += at_once, turn ^= 1) {
      float* const own = shared + turn * room;
      block.await_copies();
      block.sync();  // after it, no thread works on the other turn's data
      if (bringing < 0) {
        f(own, own + rows_from(first) * a_row, rows_from(first));
      } else if (first + at_once < count) {
        bring(first + at_once, shared + (turn ^ 1) * room);
      }
    }
  }

  // One parameter per thread, summed over the rows and their patches.
  template <class Block>
  BROADLOOM_HD void convolution(Block& block, const WeightsJob& job, const Rows& rows) const {
    const DeviceLayer& layer = rows.body.hidden[job.layer];
    const Patches patches = layer.patches;  // a copy, because each lookup would cost a wait
    const int x_row = TilePlaces::row(layer.row_in), d_row = TilePlaces::row(layer.row_out());
    const int filters = layer.out, e = job.i + block.thread(), o = e % filters, i = e / filters;
    const bool is_there = block.thread() < kChains && i <= layer.in, is_weight = i < layer.in;
    const int patch_offset = is_weight && is_there ? patches.at(i) : 0;
    const float* const x = rows.inputs(job.layer);
    const float* const delta = rows.derivatives(job.layer);
    float* const target = rows.grads + (is_weight ? layer.weight + i * filters : layer.bias) + o;
    float sum = is_there ? begun(target) : 0.0f;
    const auto add_rows = [&](const float* of_x, const float* of_d, int count) {
      if (!is_there) return;
      const Pixels all{patches.down,
                       patches.across,
                       patches.next_across,
                       filters,
                       patches.next_down,
                       patches.across * filters,
                       x_row,
                       d_row,
                       count};
      if (is_weight) {
        over_pixels(all, of_x + patch_offset, of_d + o,
                    [&](float input, float d) { sum = element::mul_add(input, d, sum); });
      } else {
        over_pixels(all, of_x, of_d + o, [&](float, float d) { sum += d; });
      }
    };
    over_rows(block, rows.count, x, x_row, delta, d_row, add_rows);
    if (is_there) *target = sum;
  }

  // Gain and bias of one number per thread, summed over the rows and their parts.
  template <class Block>
  BROADLOOM_HD void norm(Block& block, const WeightsJob& job, const Rows& rows) const {
    const DeviceNorm& norm = rows.body.norms[job.layer];
    const int parts = norm.parts, size = norm.size, row = TilePlaces::row(parts * size);
    const float* const deltas = rows.array(rows.places.delta[job.layer], row);
    const float* const zs = rows.array(rows.places.linear[job.layer], row);
    const int i = job.i + block.thread();
    const bool is_there = block.thread() < kChains && i < size;
    const int pixels = parts % kUsualPixels == 0 ? kUsualPixels : 1;
    float *const gain = rows.grads + norm.gain + i, *const bias = rows.grads + norm.bias + i;
    float gain_sum = is_there ? begun(gain) : 0.0f, bias_sum = is_there ? begun(bias) : 0.0f;
    const auto add_rows = [&](const float* delta, const float* z, int count) {
      if (!is_there) return;
      const Pixels all{parts / pixels, pixels, size, size, pixels * size,
                       pixels * size,  row,    row,  count};
      over_pixels(all, z + i, delta + i, [&](float of_z, float d) {
        gain_sum = element::mul_add(d, of_z, gain_sum);
        bias_sum += d;
      });
    };
    over_rows(block, rows.count, deltas, row, zs, row, add_rows);
    if (!is_there) return;
    *gain = gain_sum;
    *bias = bias_sum;
  }

  // One element of W [out, in] or of the bias per thread.
  static constexpr int kReads = 16;  // of a chain at a time
  BROADLOOM_HD void head(const WeightsJob& job, const Rows& rows, int e) const {
    const bool is_value = job.kind == WeightsJob::kValueHead;
    const DeviceLayer& head = is_value ? rows.body.value_head : rows.body.head;
    if (e >= head.out * (head.in + 1)) return;
    const int i = e % (head.in + 1), o = e / (head.in + 1), row = TilePlaces::row(head.in);
    const bool is_weight = i < head.in;
    const float* const x = rows.array(rows.places.top(rows.body), row) + (is_weight ? i : 0);
    const float* const d = rows.arrays + (is_value ? rows.places.values : rows.places.outputs) +
                           static_cast<std::size_t>(o) * rows.places.rows + rows.first;
    float* const target = rows.grads + (is_weight ? head.weight + o * head.in + i : head.bias + o);
    float sum = begun(target);
    for (int first = 0; first < rows.count; first += kReads) {
      float of_x[kReads], of_d[kReads];  // all reads come before the work
      for (int k = 0; k < kReads; ++k) {
        const bool is_there = first + k < rows.count;
        of_x[k] = is_there ? x[(first + k) * row] : 0.0f;
        of_d[k] = is_there ? d[first + k] : 0.0f;
      }
      for (int k = 0; k < kReads && first + k < rows.count; ++k) {
        sum = is_weight ? element::mul_add(of_d[k], of_x[k], sum) : sum + of_d[k];
      }
    }
    *target = sum;
  }
  // Adds up the loss sums of the partial gradient's groups, and the derivatives of a Gaussian's
  // log_std.
  BROADLOOM_HD void add_sums(const Rows& rows, int p, int thread) const {
    const int first = rows.first / work.group_rows;
    const int groups = work.groups_of(rows.count), sides = work.network.sides();
    if (thread < sides) {
      Sums& all = work.sums[p * sides + thread];
      Sums sum = work.rows.is_first() ? Sums() : all;
      for (int t = 0; t < groups; ++t) {
        sum.add(work.tile_sums[static_cast<std::size_t>(first + t) * sides + thread]);
      }
      all = sum;
    }
    if (!work.network.has_log_std) return;
    const int outputs = work.network.outputs;
    for (int a = thread; a < outputs; a += kThreads) {
      float* const target = rows.grads + work.network.log_std + a;
      float sum = begun(target);
      for (int t = 0; t < groups; ++t) {
        sum += work.log_std[static_cast<std::size_t>(first + t) * outputs + a];
      }
      *target = sum;
    }
  }
};

}  // namespace broadloom::cuda
