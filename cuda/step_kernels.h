// What stands around a minibatch's gradient: how its advantages are normalised, the sum of its
// partial gradients, clipping and Adam. With the bits of Ppo, PartialGradients and Learner.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "broadloom/algo/clip_scale.h"
#include "broadloom/algorithms/ppo_loss.h"
#include "broadloom/math/adam_formula.h"
#include "cuda/kernel.h"

namespace broadloom::cuda {

// Mean and scale of the advantages of each minibatch of an update. They follow from the block and
// the permutations alone, so one launch makes them for all steps at once, one warp a minibatch:
// four chains each, as on the host, whose waits are then side by side.
struct ShiftKernel {
  const float* advantages;      // [B]
  const std::int32_t* indices;  // [epochs, B]; null: all in order, and one minibatch an epoch
  int samples, count;           // B, and minibatches an epoch
  AdvantageShift* shifts;       // [epochs, count]

  static KernelShape shape(int minibatches) { return {minibatches, kWarp, 4 * sizeof(double)}; }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    double* const chains = block.template shared<double>();
    const int epoch = block.index() / count, m = block.index() % count;
    const int begin = place(m), rows = place(m + 1) - begin;
    const std::int32_t* const of =
        indices == nullptr ? nullptr : indices + static_cast<std::size_t>(epoch) * samples + begin;
    const double mean = sum(block, chains, of, rows, [](double x) { return x; }) / rows;
    const double squares =
        sum(block, chains, of, rows, [mean](double x) { return (x - mean) * (x - mean); });
    if (block.thread() != 0) return;
    shifts[block.index()] = AdvantageShift();
    if (rows < 2) return;
    shifts[block.index()].mean = static_cast<float>(mean);
    shifts[block.index()].scale =
        static_cast<float>(1.0 / (std::sqrt(squares / (rows - 1)) + 1e-8));
  }

 private:
  BROADLOOM_HD int place(int m) const {
    return static_cast<int>(static_cast<std::int64_t>(m) * samples / count);
  }
  template <class Block, class Term>
  BROADLOOM_HD double sum(Block& block, double* chains, const std::int32_t* of, int rows,
                          Term&& term) const {
    double chain = 0.0;
    for (int i = block.thread(); block.thread() < 4 && i < rows; i += 4) {
      chain += term(advantages[of == nullptr ? i : of[i]]);
    }
    if (block.thread() < 4) chains[block.thread()] = chain;
    block.sync();
    const double total = (chains[0] + chains[1]) + (chains[2] + chains[3]);
    block.sync();
    return total;
  }
};

// A run of the parameters: parameter_chunks() (algo/gradient_cut.h).
struct DeviceChunk {
  int begin, end;
};

// The partial gradients added pairwise into the first, in the host's tree, and the sum of squares
// of each chunk. One block a chunk, at most 2,048 parameters.
struct ReduceKernel {
  float* partial_grads;  // [partials, parameters]
  int partials, parameters;
  const DeviceChunk* chunks;
  double* squares;  // [chunks]

  static KernelShape shape(int chunks) { return {chunks, 256, 0}; }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const DeviceChunk chunk = chunks[block.index()];
    for (int i = chunk.begin + block.thread(); i < chunk.end; i += block.threads()) {
      for (int stride = 1; stride < partials; stride *= 2) {
        for (int p = 0; p + stride < partials; p += 2 * stride) {
          partial_grads[at(p, i)] += partial_grads[at(p + stride, i)];
        }
      }
    }
    block.sync();
    if (block.thread() >= kWarp) return;
    // 32 chains, then the upper half of them added to the lower one: sum_squares().
    double sum = 0.0;
    for (int i = chunk.begin + block.thread(); i < chunk.end; i += kWarp) {
      const double x = partial_grads[i];
      sum += x * x;  // x * x is exact
    }
    for (int mask = kWarp / 2; mask > 0; mask /= 2) sum += block.shuffle_xor(sum, mask);
    if (block.thread() == 0) squares[block.index()] = sum;
  }

 private:
  BROADLOOM_HD std::size_t at(int p, int i) const {
    return static_cast<std::size_t>(p) * parameters + i;
  }
};

// One thread a parameter; each works out the norm for itself, from a handful of numbers.
struct AdamKernel {
  AdamFactors factors;
  double max_grad_norm;
  const double* squares;  // [chunks]
  int chunks, parameters;
  const float* gradient;  // [parameters]
  float *params, *m, *v;
  double* norm;  // out, of this step

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int i = block.index() * block.threads() + block.thread();
    if (i >= parameters) return;
    double sum = 0.0;
    for (int c = 0; c < chunks; ++c) sum += squares[c];
    const double length = std::sqrt(sum);
    const float scale = static_cast<float>(clip_scale(length, max_grad_norm));
    adam_element(factors, scale, gradient[i], params[i], m[i], v[i]);
    if (i == 0) *norm = length;
  }
};

}  // namespace broadloom::cuda
