// WeightsKernel on tensor cores, for numbers that TensorDeltaKernel has rounded.
#pragma once

#include "cuda/learn/weights_work.h"
#include "cuda/sides/tf32.h"

namespace broadloom::cuda {

template <class Sums>
struct TensorWeightsKernel : WeightsWork<Sums> {
  using Work = WeightsWork<Sums>;
  using typename Work::Rows, typename Work::Panel, typename Work::Fetched;
  using Work::kThreads, Work::kDown, Work::kAcross, Work::kChunk;
  using Work::work, Work::jobs, Work::begun, Work::panel_of;

  static constexpr int kBlocksAtOnce = 3;

  static KernelShape shape(int jobs, int partials) {
    return {jobs * partials, kThreads, sizeof(float) * kSharedFloats};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int p = block.index() % work.rows.own;
    const WeightsJob job = jobs[block.index() / work.rows.own];
    const Rows rows(*this, job, p);
    if (job.kind == WeightsJob::kDense) return dense(block, job, rows);
    if (job.kind == WeightsJob::kImage) return image(job, rows, job.i + block.thread());
    if (job.kind == WeightsJob::kNorm) return norm(block, job, rows);
    if (job.kind == WeightsJob::kSums) return add_sums(block, rows, p);
    head(block, job, rows);
  }

  // Sums of heads and of a dense layer's norm are split into strands over every kStrands-th row,
  // one thread each. A single thread would wait for each row.
  static constexpr int kStrands = 4, kNumbers = kThreads / kStrands;

 private:
  static constexpr int kReads = 16;  // of a chain at a time
  // Each warp computes 16 inputs by 16 outputs, eight rows at a time.
  static constexpr int kRowX = kDown + 4, kRowD = kAcross + 4;  // padding against bank conflicts
  static constexpr int kSharedFloats = 2 * kChunk * (kRowX + kRowD);
  template <class Block>
  BROADLOOM_HD void dense(Block& block, const WeightsJob& job, const Rows& rows) const {
    const DeviceLayer& layer = rows.body.hidden[job.layer];
    const Panel panel = panel_of(job, rows);
    const TensorLane lane(block.thread());
    const int i = lane.warp % 2 * 16 + lane.group, o = lane.warp / 2 * 16;
    float* const weights = rows.grads + layer.weight + job.i * layer.out + job.o;
    float* const bias = rows.grads + layer.bias + job.o + block.thread();
    const bool has_bias =
        job.i == 0 && block.thread() < kAcross && job.o + block.thread() < layer.out;
    // Calls f(product n, number of this thread in it, its weight).
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
      float* const x = shared + turn * kChunk * (kRowX + kRowD);
      float* const d = x + kChunk * kRowX;
      next.template put<kRowX, kRowD>(x, d, block.thread());
      block.sync();  // after it, no thread works on the other chunk's data
      next = panel.fetch(first + kChunk, block.thread());
      for (int r = 2 * lane.within; r < kChunk; r += 8) {  // missing rows are zeros
        const float *const of_x = x + r * kRowX + i, *const of_d = d + r * kRowD + o;
        const TensorA inputs = {{of_x[0], of_x[8], of_x[kRowX], of_x[kRowX + 8]}};
        for (int n = 0; n < 2; ++n) {
          const int column = 8 * n + lane.group;
          block.multiply_add(inputs, {{of_d[column], of_d[kRowD + column]}}, sums[n]);
        }
      }
      if (!has_bias) continue;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (int r = 0; r < kChunk; ++r) bias_sum += d[r * kRowD + block.thread()];
    }
    each([&](int n, int c, float& weight) { weight = sums[n][c]; });
    if (has_bias) *bias = bias_sum;
  }

  // Adds up the image gradients of all row groups, one parameter per thread: weights and biases of
  // filters, and gain and bias of their norm.
  BROADLOOM_HD void image(const WeightsJob& job, const Rows& rows, int e) const {
    if (e >= GradientWork<Sums>::image_floats(rows.body)) return;
    const DeviceLayer& layer = rows.body.hidden[0];
    const DeviceNorm& norm = rows.body.norms[0];
    const int weights = layer.in * layer.out, filters = weights + layer.out;
    const int parameter = e < weights               ? layer.weight + e
                          : e < filters             ? layer.bias + e - weights
                          : e < filters + norm.size ? norm.gain + e - filters
                                                    : norm.bias + e - filters - norm.size;
    const int first = rows.first / work.group_rows, groups = work.groups_of(rows.count);
    float* const target = rows.grads + parameter;
    float sum = begun(target);
    for (int group = 0; group < groups; group += kReads) {
      float read[kReads];
      for (int k = 0; k < kReads; ++k) {
        read[k] = group + k < groups ? work.image_of(first + group + k, job.side)[e] : 0.0f;
      }
      for (int k = 0; k < kReads && group + k < groups; ++k) sum += read[k];
    }
    *target = sum;
  }

  // Calls add(a(row), b(row)) for each of this thread's rows.
  template <class A, class B, class Add>
  BROADLOOM_HD static void over_strand(int thread, int rows, A&& a, B&& b, Add&& add) {
    for (int first = thread / kNumbers; first < rows; first += kStrands * kReads) {
      float of_a[kReads], of_b[kReads];  // all reads come before the work
      for (int k = 0; k < kReads; ++k) {
        const int r = first + k * kStrands;
        of_a[k] = r < rows ? a(r) : 0.0f;
        of_b[k] = r < rows ? b(r) : 0.0f;
      }
      for (int k = 0; k < kReads; ++k) add(of_a[k], of_b[k]);
    }
  }
  // Sum of all strands of a thread's number. All threads must call it.
  template <class Block>
  BROADLOOM_HD static float of_strands(Block& block, float sum) {
    float* const shared = block.template shared<float>();
    block.sync();  // no thread reads the previous contents any more
    shared[block.thread()] = sum;
    block.sync();
    const float* const own = shared + block.thread() % kNumbers;
    return (own[0] + own[kNumbers]) + (own[2 * kNumbers] + own[3 * kNumbers]);
  }

  template <class Block>
  BROADLOOM_HD void head(Block& block, const WeightsJob& job, const Rows& rows) const {
    const bool is_value = job.kind == WeightsJob::kValueHead;
    const DeviceLayer& head = is_value ? rows.body.value_head : rows.body.head;
    const int e = job.i + block.thread() % kNumbers, row = TilePlaces::row(head.in);
    const bool is_there = e < head.out * (head.in + 1);
    const int i = is_there ? e % (head.in + 1) : 0, o = is_there ? e / (head.in + 1) : 0;
    const bool is_weight = i < head.in;
    const float* const x = rows.array(rows.places.top(rows.body), row) + i;
    const float* const d = rows.arrays + (is_value ? rows.places.values : rows.places.outputs) +
                           static_cast<std::size_t>(o) * rows.places.rows + rows.first;
    float sum = 0.0f;
    over_strand(
        block.thread(), rows.count, [&](int r) { return is_weight ? x[r * row] : 1.0f; },
        [&](int r) { return d[r]; },
        [&](float of_x, float of_d) { sum = element::mul_add(of_d, of_x, sum); });
    const float all = of_strands(block, sum);
    if (!is_there || block.thread() >= kNumbers) return;
    float* const target = rows.grads + (is_weight ? head.weight + o * head.in + i : head.bias + o);
    *target = begun(target) + all;
  }

  // Gain and bias of a dense layer's norm.
  template <class Block>
  BROADLOOM_HD void norm(Block& block, const WeightsJob& job, const Rows& rows) const {
    const DeviceNorm& norm = rows.body.norms[job.layer];
    const int number = job.i + block.thread() % kNumbers, row = TilePlaces::row(norm.size);
    const bool is_there = number < norm.size;
    const int i = is_there ? number : 0;
    const float* const delta = rows.array(rows.places.delta[job.layer], row) + i;
    const float* const z = rows.array(rows.places.linear[job.layer], row) + i;
    float gain_sum = 0.0f, bias_sum = 0.0f;
    over_strand(
        block.thread(), rows.count, [&](int r) { return delta[r * row]; },
        [&](int r) { return z[r * row]; },
        [&](float d, float of_z) {
          gain_sum = element::mul_add(d, of_z, gain_sum);
          bias_sum += d;
        });
    const float all_gain = of_strands(block, gain_sum), all_bias = of_strands(block, bias_sum);
    if (!is_there || block.thread() >= kNumbers) return;
    float *const gain = rows.grads + norm.gain + i, *const bias = rows.grads + norm.bias + i;
    *gain = begun(gain) + all_gain;
    *bias = begun(bias) + all_bias;
  }

  // Adds up the loss sums of groups, and the derivatives of a Gaussian's log_std, through shared
  // memory.
  template <class Block>
  BROADLOOM_HD void add_sums(Block& block, const Rows& rows, int p) const {
    static_assert(sizeof(Sums) % sizeof(double) == 0);
    constexpr int kWords = sizeof(Sums) / sizeof(double);
    constexpr int kAtOnce = sizeof(float) * kSharedFloats / sizeof(Sums);
    const int sides = work.network.sides(), first = rows.first / work.group_rows;
    const int all = work.groups_of(rows.count) * sides, at_once = kAtOnce / sides * sides;
    const Sums* const source = work.tile_sums + static_cast<std::size_t>(first) * sides;
    Sums* const kept = block.template shared<Sums>();
    Sums sum;
    if (block.thread() < sides && !work.rows.is_first())
      sum = work.sums[p * sides + block.thread()];
    for (int begin = 0; begin < all; begin += at_once) {
      const int count = all - begin < at_once ? all - begin : at_once;
      block.sync();
      for (int w = block.thread(); w < count * kWords; w += kThreads) {
        reinterpret_cast<double*>(kept)[w] = reinterpret_cast<const double*>(source + begin)[w];
      }
      block.sync();
      for (int e = block.thread(); e < count && block.thread() < sides; e += sides)
        sum.add(kept[e]);
    }
    if (block.thread() < sides) work.sums[p * sides + block.thread()] = sum;
    const int outputs = work.network.has_log_std ? work.network.outputs : 0;
    for (int a = block.thread(); a < outputs; a += kThreads) {
      float* const target = rows.grads + work.network.log_std + a;
      float of_groups = begun(target);
      for (int t = 0; t < all / sides; ++t) {
        of_groups += work.log_std[static_cast<std::size_t>(first + t) * outputs + a];
      }
      *target = of_groups;
    }
  }
};

}  // namespace broadloom::cuda
