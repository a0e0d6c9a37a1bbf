// From derivatives of layers' outputs to those of their parameters, with the bits of
// ActorCritic::backward: each is one chain over the rows of a partial gradient, and all of them go
// side by side.
#pragma once

#include <vector>

#include "cuda/learn/gradient_work.h"
#include "cuda/learn/pixel_chains.h"
#include "cuda/sides/tf32.h"
#include "cuda/tile/backward.h"

namespace broadloom::cuda {

// What a block does for a partial gradient.
struct WeightsJob {
  // Parameters of a dense layer from input `i` and output `o` on; of a convolution, of what
  // normalises a layer and of the heads from number `i` on; of all that TensorDeltaKernel has
  // learnt of an image; and what was said of samples.
  enum Kind { kConvolution, kNorm, kHead, kValueHead, kDense, kTensorDense, kImage, kSums };
  Kind kind;
  int side, layer, i, o;
};

template <class Sums>
struct WeightsKernel {
  static constexpr int kThreads = 256;
  static constexpr int kDown = 32, kAcross = 64;  // inputs and outputs of a dense job
  static constexpr int kChunk = 32;               // rows that lie in shared memory at a time
  // Threads of a block that have chains over the pixels of images, two warps, so that their reads
  // of shared memory do not keep one another waiting; the others bring the rows.
  static constexpr int kChains = 64;

  GradientWork<Sums> of;
  const WeightsJob* jobs;

  static KernelShape shape(const DeviceNetwork& network, int jobs, int partials) {
    return {jobs * partials, kThreads, sizeof(float) * 2 * row_floats(network)};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int p = block.index() % of.rows.partials;
    const WeightsJob job = jobs[block.index() / of.rows.partials];
    const Rows rows(*this, job, p);
    if (job.kind == WeightsJob::kDense) return dense(block, job, rows);
    if (job.kind == WeightsJob::kTensorDense) return tensor_dense(block, job, rows);
    if (job.kind == WeightsJob::kImage) return image(job, rows, job.i + block.thread());
    if (job.kind == WeightsJob::kConvolution) return convolution(block, job, rows);
    if (job.kind == WeightsJob::kNorm) return norm(block, job, rows);
    if (job.kind == WeightsJob::kSums) return add_sums(rows, p, block.thread());
    head(job, rows, job.i + block.thread());
  }

 private:
  // Of a partial gradient.
  struct Rows {
    const DeviceBody& body;
    const TilePlaces& at;
    const float* arrays;
    int first, count;
    float* grads;

    BROADLOOM_HD Rows(const WeightsKernel& kernel, const WeightsJob& job, int p)
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

  // Chunk after chunk of the rows comes to shared memory while the one before is worked on, eight
  // parameters a thread: with more there would be too few threads for the waits.
  template <class Block>
  BROADLOOM_HD void dense(Block& block, const WeightsJob& job, const Rows& rows) const {
    const DeviceLayer& layer = rows.body.hidden[job.layer];
    const Panel panel = panel_of(job, rows);
    const int lane = block.thread() % kWarp, warp = block.thread() / kWarp;
    const int i = (warp / 2 * 4 + lane / 8) * kSquare, o = (warp % 2 * 8 + lane % 8) * 4;
    const bool has_bias = job.i == 0 && block.thread() < kAcross;
    float* const weights = rows.grads + layer.weight + (job.i + i) * layer.out + job.o + o;
    float* const bias = rows.grads + layer.bias + job.o + block.thread();
    const int inputs = layer.in - job.i - i, outputs = layer.out - job.o - o;  // that are left
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
    for (int first = 0, turn = 0; first < rows.count; first += kChunk, turn ^= 1) {
      float* const x = shared + turn * kChunk * (kDown + kAcross);
      float* const d = x + kChunk * kDown;
      next.template put<kDown, kAcross>(x, d, block.thread());
      block.sync();  // and who works on the other chunk is done with the one before it
      next = panel.fetch(first + kChunk, block.thread());
      const int left = rows.count - first, count = left < kChunk ? left : kChunk;
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

  static constexpr int kSquare = 2;  // inputs of a thread

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
        for (int c = 0; c < 4; ++c) sums[k][c] = element::mul_add(of_x, of_d.of[c], sums[k][c]);
      }
    }
  }

  // The same on tensor cores: each warp 16 inputs by 16 outputs, eight rows at a time.
  static constexpr int kTensorX = kDown + 4, kTensorD = kAcross + 4;  // other banks for neighbours
  template <class Block>
  BROADLOOM_HD void tensor_dense(Block& block, const WeightsJob& job, const Rows& rows) const {
    const DeviceLayer& layer = rows.body.hidden[job.layer];
    const Panel panel = panel_of(job, rows);
    const TensorLane lane(block.thread());
    const int i = lane.warp % 2 * 16 + lane.group, o = lane.warp / 2 * 16;
    float* const weights = rows.grads + layer.weight + job.i * layer.out + job.o;
    float* const bias = rows.grads + layer.bias + job.o + block.thread();
    const bool has_bias =
        job.i == 0 && block.thread() < kAcross && job.o + block.thread() < layer.out;
    // f(number of this thread's in product n, its input and output)
    const auto each = [&](auto&& f) {
      for (int n = 0; n < 2; ++n) {
        for (int c = 0; c < 4; ++c) {
          const int own_i = i + c / 2 * 8, own_o = o + 8 * n + 2 * lane.within + c % 2;
          if (job.i + own_i < layer.in && job.o + own_o < layer.out) {
            f(n, c, weights[own_i * layer.out + own_o]);
          }
        }
      }
    };
    float sums[2][4] = {}, bias_sum = has_bias ? begun(bias) : 0.0f;
    each([&](int n, int c, const float& weight) { sums[n][c] = begun(&weight); });
    float* const shared = block.template shared<float>();
    Fetched next = panel.fetch(0, block.thread());
    for (int first = 0, turn = 0; first < rows.count; first += kChunk, turn ^= 1) {
      float* const x = shared + turn * kChunk * (kTensorX + kTensorD);
      float* const d = x + kChunk * kTensorX;
      next.template put<kTensorX, kTensorD>(x, d, block.thread());
      block.sync();  // and who works on the other chunk is done with the one before it
      next = panel.fetch(first + kChunk, block.thread());
      for (int r = 2 * lane.within; r < kChunk; r += 8) {  // rows that are not there are zeros
        const float *const of_x = x + r * kTensorX + i, *const of_d = d + r * kTensorD + o;
        const TensorA inputs = rounded(of_x[0], of_x[8], of_x[kTensorX], of_x[kTensorX + 8]);
        for (int n = 0; n < 2; ++n) {
          const int at = 8 * n + lane.group;
          block.multiply_add(inputs, rounded(of_d[at], of_d[kTensorD + at]), sums[n]);
        }
      }
      if (!has_bias) continue;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (int r = 0; r < kChunk; ++r) bias_sum += d[r * kTensorD + block.thread()];
    }
    each([&](int n, int c, float& weight) { weight = sums[n][c]; });
    if (has_bias) *bias = bias_sum;
  }

  // What groups of rows have learnt of an image, added up: one parameter a thread, of weights and
  // biases of filters and of what normalises them.
  BROADLOOM_HD void image(const WeightsJob& job, const Rows& rows, int e) const {
    if (e >= GradientWork<Sums>::image_floats(rows.body)) return;
    const DeviceLayer& layer = rows.body.hidden[0];
    const DeviceNorm& norm = rows.body.norms[0];
    const int weights = layer.in * layer.out, filters = weights + layer.out;
    const int parameter = e < weights               ? layer.weight + e
                          : e < filters             ? layer.bias + e - weights
                          : e < filters + norm.size ? norm.gain + e - filters
                                                    : norm.bias + e - filters - norm.size;
    const int first = rows.first / of.group_rows, groups = of.groups_of(rows.count);
    float* const to = rows.grads + parameter;
    float sum = begun(to);
    for (int group = 0; group < groups; group += kReads) {
      float read[kReads];
      for (int k = 0; k < kReads; ++k) {
        read[k] = group + k < groups ? of.image_of(first + group + k, job.side)[e] : 0.0f;
      }
      for (int k = 0; k < kReads && group + k < groups; ++k) sum += read[k];
    }
    *to = sum;
  }

  // Numbers of rows that lie in shared memory while the next ones come: several rows of images, for
  // which there is more to wait than to work on with fewer.
  static constexpr int kMostRowFloats = 8192;
  static_assert(2 * sizeof(float) * kMostRowFloats <= 64 * 1024, "a block of any device has that");
  BROADLOOM_HD static int row_floats(const DeviceNetwork& network) {
    return network.actor.begins_with_image() ? kMostRowFloats : kChunk * (kTensorX + kTensorD);
  }

  // Rows of two arrays, [count, a_row] and [count, b_row], through shared memory, as many at a time
  // as have room there: f(a, b, rows) works on some of each, by the threads below kChains. Where
  // there is no room for one, all of them where they are.
  template <class Block, class F>
  BROADLOOM_HD void over_rows(Block& block, int count, const float* a, int a_row, const float* b,
                              int b_row, F&& f) const {
    const int room = row_floats(of.network), at_once = room / (a_row + b_row);
    if (at_once == 0) return f(a, b, block.thread() < kChains ? count : 0);
    float* const shared = block.template shared<float>();
    const int bringing = block.thread() - kChains;
    const auto rows_from = [&](int first) {
      return count - first < at_once ? count - first : at_once;
    };
    const auto bring = [&](int first, float* to) {
      const int of_a = rows_from(first) * a_row, all = of_a + rows_from(first) * b_row;
      for (int e = 4 * bringing; e < all; e += 4 * (kThreads - kChains)) {
        const float* const from = e < of_a ? a + first * a_row + e : b + first * b_row + (e - of_a);
        block.copy_ahead(to + e, from);
      }
    };
    if (bringing >= 0) bring(0, shared);
    for (int first = 0, turn = 0; first < count; first += at_once, turn ^= 1) {
      float* const own = shared + turn * room;
      block.await_copies();
      block.sync();  // and who works on the other turn is done with the one before it
      if (bringing < 0) {
        f(own, own + rows_from(first) * a_row, rows_from(first));
      } else if (first + at_once < count) {
        bring(first + at_once, shared + (turn ^ 1) * room);
      }
    }
  }

  // One parameter a thread, over the rows and their patches.
  template <class Block>
  BROADLOOM_HD void convolution(Block& block, const WeightsJob& job, const Rows& rows) const {
    const DeviceLayer& layer = rows.body.hidden[job.layer];
    const Patches patches = layer.patches;  // a copy: what is looked up costs a wait each time
    const int x_row = TilePlaces::row(layer.row_in), d_row = TilePlaces::row(layer.row_out());
    const int filters = layer.out, e = job.i + block.thread(), o = e % filters, i = e / filters;
    const bool is_there = block.thread() < kChains && i <= layer.in, is_weight = i < layer.in;
    const int from = is_weight && is_there ? patches.at(i) : 0;
    const float* const x = rows.inputs(job.layer);
    const float* const delta = rows.derivatives(job.layer);
    float* const to = rows.grads + (is_weight ? layer.weight + i * filters : layer.bias) + o;
    float sum = is_there ? begun(to) : 0.0f;
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
        over_pixels(all, of_x + from, of_d + o,
                    [&](float input, float d) { sum = element::mul_add(input, d, sum); });
      } else {
        over_pixels(all, of_x, of_d + o, [&](float, float d) { sum += d; });
      }
    };
    over_rows(block, rows.count, x, x_row, delta, d_row, add_rows);
    if (is_there) *to = sum;
  }

  // Gain and bias of one number a thread, over the rows and their parts.
  template <class Block>
  BROADLOOM_HD void norm(Block& block, const WeightsJob& job, const Rows& rows) const {
    const DeviceNorm& norm = rows.body.norms[job.layer];
    const int parts = norm.parts, size = norm.size, row = TilePlaces::row(parts * size);
    const float* const deltas = rows.of(rows.at.delta[job.layer], row);
    const float* const zs = rows.of(rows.at.linear[job.layer], row);
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

  // W [out, in].
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
  static constexpr int kReads = 16;

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

// What is to be done for each partial gradient, of which what takes longest comes first.
inline std::vector<WeightsJob> weights_jobs(const DeviceNetwork& network) {
  std::vector<WeightsJob> jobs;
  using Kernel = WeightsKernel<int>;
  const auto numbers = [&](WeightsJob::Kind kind, int side, int layer, int count) {
    const bool is_chain = kind == WeightsJob::kConvolution || kind == WeightsJob::kNorm;
    const int of_job = is_chain ? Kernel::kChains : Kernel::kThreads;
    for (int i = 0; i < count; i += of_job) jobs.push_back({kind, side, layer, i, 0});
  };
  const auto each = [&](auto&& f) {
    for (int side = 0; side < network.sides(); ++side) {
      const DeviceBody& body = network.body(side);
      for (int l = 0; l < body.layers; ++l) f(side, l, body.hidden[l], body.norms[l]);
    }
  };
  each([&](int side, int l, const DeviceLayer& layer, const DeviceNorm&) {
    if (layer.patches.count() == 1) return;
    if (network.is_rounded()) {
      numbers(WeightsJob::kImage, side, l, GradientWork<int>::image_floats(network.body(side)));
    } else {
      numbers(WeightsJob::kConvolution, side, l, (layer.in + 1) * layer.out);
    }
  });
  each([&](int side, int l, const DeviceLayer&, const DeviceNorm& norm) {
    if (network.is_rounded() && network.body(side).is_of_image(l)) return;  // with kImage
    if (norm.is_there()) numbers(WeightsJob::kNorm, side, l, norm.size);
  });
  for (int side = 0; side < network.sides(); ++side) {
    const DeviceBody& body = network.body(side);
    numbers(WeightsJob::kHead, side, 0, body.head.out * (body.head.in + 1));
    numbers(WeightsJob::kValueHead, side, 0, body.value_head.out * (body.value_head.in + 1));
  }
  const WeightsJob::Kind dense =
      network.is_rounded() ? WeightsJob::kTensorDense : WeightsJob::kDense;
  each([&](int side, int l, const DeviceLayer& layer, const DeviceNorm&) {
    if (layer.patches.count() != 1) return;
    for (int i = 0; i < layer.in; i += Kernel::kDown) {
      for (int o = 0; o < layer.out; o += Kernel::kAcross) {
        jobs.push_back({dense, side, l, i, o});
      }
    }
  });
  jobs.push_back({WeightsJob::kSums, 0, 0, 0, 0});
  return jobs;
}

}  // namespace broadloom::cuda
