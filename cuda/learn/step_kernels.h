// What stands around a minibatch's gradient: how its advantages are normalised, the sum of its
// partial gradients, clipping and Adam. With the bits of Ppo, PartialGradients and Learner.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "broadloom/learn/clip_scale.h"
#include "broadloom/learn/gradient_cut.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/math/adam_formula.h"
#include "broadloom/rollout/collect_fault.h"
#include "broadloom/rollout/minibatches.h"
#include "cuda/sides/kernel.h"
#include "cuda/tile/packed_weights.h"

namespace broadloom::cuda {

// Mean and scale of the learnt advantages of each minibatch of an update. They follow from the
// block and the permutations alone, so one launch makes them for all steps at once, one block a
// minibatch: four chains each, as on the host, by a warp of its own for which the other threads
// fetch numbers.
struct ShiftKernel {
  static constexpr int kFetching = 256, kThreads = kWarp + kFetching, kAtOnce = 4 * kFetching;

  const float* advantages;      // [B]
  const std::int32_t* indices;  // [epochs, B]; null: all in order, and one minibatch an epoch
  int samples, count;           // B, and minibatches an epoch
  AdvantageShift* shifts;       // [epochs, count]

  static KernelShape shape(int minibatches) {
    return {minibatches, kThreads, (4 + 2 * kAtOnce) * sizeof(double)};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int epoch = block.index() / count, m = block.index() % count;
    const int begin = minibatch_begin(m, samples, count);
    const int rows = minibatch_begin(m + 1, samples, count) - begin;
    const std::int32_t* const of =
        indices == nullptr ? nullptr : indices + static_cast<std::size_t>(epoch) * samples + begin;
    const double mean = sum(block, of, rows, [](double x) { return x; }) / rows;
    const double squares =
        sum(block, of, rows, [mean](double x) { return (x - mean) * (x - mean); });
    if (block.thread() != 0) return;
    shifts[block.index()] = rows < 2 ? AdvantageShift() : AdvantageShift::of(mean, squares, rows);
  }

 private:
  // Four neighbours' numbers from i on, of those that there are.
  BROADLOOM_HD void fetch(const std::int32_t* of, int first, int rows, int thread,
                          float (&own)[4]) const {
    for (int k = 0; k < 4; ++k) {
      const int i = first + k * kFetching + thread;
      own[k] = i < rows ? advantages[of == nullptr ? i : of[i]] : 0.0f;
    }
  }
  // Numbers i, i + 4, ..., of which many are read before the first is added.
  BROADLOOM_HD static void add_chain(const double* numbers, int i, int end, double& chain) {
    constexpr int kReads = 16;
    for (; i + 4 * (kReads - 1) < end; i += 4 * kReads) {
      double read[kReads];
      for (int k = 0; k < kReads; ++k) read[k] = numbers[i + 4 * k];
      for (int k = 0; k < kReads; ++k) chain += read[k];
    }
    for (; i < end; i += 4) chain += numbers[i];
  }
  template <class Block, class Term>
  BROADLOOM_HD double sum(Block& block, const std::int32_t* of, int rows, Term&& term) const {
    double* const chains = block.template shared<double>();
    double* const terms = chains + 4;
    float own[4];
    double chain = 0.0;
    const int fetching = block.thread() - kWarp;  // below 0: this one adds
    if (fetching >= 0) fetch(of, 0, rows, fetching, own);
    for (int first = 0, turn = 0; first < rows; first += kAtOnce, turn ^= 1) {
      double* const here = terms + turn * kAtOnce;
      for (int k = 0; k < 4 && fetching >= 0; ++k) here[k * kFetching + fetching] = term(own[k]);
      block.sync();  // and who adds is done with the turn before the last
      const int left = rows - first, end = left < kAtOnce ? left : kAtOnce;
      if (block.thread() < 4) add_chain(here, block.thread(), end, chain);
      if (fetching >= 0) fetch(of, first + kAtOnce, rows, fetching, own);
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
  static constexpr int kThreads = 1024, kMostOfChunk = 2048;
  // Of the tree, which a thread reads at once.
  static constexpr int kAtOnce = 16;

  float* partial_grads;  // [partials, parameters]
  int partials, parameters;
  const DeviceChunk* chunks;
  double* squares;  // [chunks]

  static KernelShape shape(int chunks) { return {chunks, kThreads, sizeof(float) * kMostOfChunk}; }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const DeviceChunk chunk = chunks[block.index()];
    float* const kept = block.template shared<float>();
    for (int i = chunk.begin + block.thread(); i < chunk.end; i += block.threads()) {
      const float sum = sum_of(i);
      partial_grads[i] = sum;
      kept[i - chunk.begin] = sum;
    }
    block.sync();
    if (block.thread() >= kWarp) return;
    // 32 chains, then the upper half of them added to the lower one: sum_squares().
    double sum = 0.0;
    for (int i = block.thread(); i < chunk.end - chunk.begin; i += kWarp) {
      const double x = kept[i];
      sum += x * x;  // x * x is exact
    }
    for (int mask = kWarp / 2; mask > 0; mask /= 2) sum += block.shuffle_xor(sum, mask);
    if (block.thread() == 0) squares[block.index()] = sum;
  }

 private:
  // Neighbours first, then neighbouring sums: a number is added to the one a stride before it where
  // it is there.
  BROADLOOM_HD float sum_of(int i) const {
    float branches[kMostPartialGradients / kAtOnce];
    const int count = (partials + kAtOnce - 1) / kAtOnce;
    for (int b = 0; b < kMostPartialGradients / kAtOnce; ++b) {
      branches[b] = b < count ? branch(i, b * kAtOnce) : 0.0f;
    }
    return tree(branches, count);
  }
  BROADLOOM_HD float branch(int i, int first) const {
    float of[kAtOnce];
    for (int p = 0; p < kAtOnce; ++p) {
      const bool is_there = first + p < partials;
      of[p] = is_there ? partial_grads[static_cast<std::size_t>(first + p) * parameters + i] : 0.0f;
    }
    return tree(of, partials - first);
  }
  // Of the first `count` of them.
  template <int kCount>
  BROADLOOM_HD static float tree(float (&of)[kCount], int count) {
    for (int stride = 1; stride < kCount; stride *= 2) {
      for (int p = 0; p + stride < kCount; p += 2 * stride) {
        if (p + stride < count) of[p] += of[p + stride];
      }
    }
    return of[0];
  }
};

// The length of a gradient, by the squares of its chunks.
struct GradientLength {
  const double* squares;
  int chunks;

  BROADLOOM_HD double operator()() const {
    double sum = 0.0;
    for (int c = 0; c < chunks; ++c) sum += squares[c];
    return std::sqrt(sum);
  }
};

// Before clipping: of a network's gradient, and of that and what is learnt beside it, which are
// clipped together.
struct GradientNorms {
  double network = 0.0, clipped = 0.0;
};
struct ClippedLength {
  GradientLength network, beside;  // of no chunks: there is nothing beside it

  BROADLOOM_HD GradientNorms norms() const {
    const double length = network();
    if (beside.chunks == 0) return {length, length};
    const double other = beside();
    return {length, std::sqrt(length * length + other * other)};
  }
};

// Copies of parameters for tensor cores, one parameter a thread.
struct PackKernel {
  PackedWeights packed;
  int parameters;
  float* params;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int i = block.index() * block.threads() + block.thread();
    if (i < parameters) packed.keep(i, params[i], params);
  }
};

// One step of all parameters, some a thread, which ask for their numbers while one thread of a
// block works out the norms. Where the block of transitions has a fault, nothing is learnt from it.
struct AdamKernel {
  static constexpr int kThreads = 256, kEach = 4, kOfBlock = kThreads * kEach;

  const AdamFactors* factors;  // of the step
  double max_grad_norm;
  ClippedLength length;
  int parameters;
  const float* gradient;  // [parameters]
  float *params, *m, *v;
  PackedWeights packed;        // copies behind them
  GradientNorms* norms;        // out, of this step; or null
  const std::uint64_t* fault;  // of the block; null: there is none

  KernelShape shape() const {
    return {(parameters + kOfBlock - 1) / kOfBlock, kThreads,
            sizeof(GradientNorms) + (keeps_squares() ? sizeof(double) * squares() : 0)};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    if (fault != nullptr && *fault != kNoFault) return;
    GradientNorms* const now = block.template shared<GradientNorms>();
    const ClippedLength nearer = keeps_squares() ? fetch(block, now + 1) : length;
    const int first = block.index() * kOfBlock + block.thread();
    float of_gradient[kEach], of_params[kEach], of_m[kEach], of_v[kEach];
    for (int k = 0; k < kEach; ++k) {
      const int i = first + k * kThreads;
      if (i >= parameters) continue;
      of_gradient[k] = gradient[i];
      of_params[k] = params[i];
      of_m[k] = m[i];
      of_v[k] = v[i];
    }
    const AdamFactors step = *factors;
    block.sync();
    if (block.thread() == 0) *now = nearer.norms();
    block.sync();
    const float scale = static_cast<float>(clip_scale(now->clipped, max_grad_norm));
    for (int k = 0; k < kEach; ++k) {
      const int i = first + k * kThreads;
      if (i >= parameters) continue;
      adam_element(step, scale, of_gradient[k], of_params[k], of_m[k], of_v[k]);
      params[i] = of_params[k];
      m[i] = of_m[k];
      v[i] = of_v[k];
      packed.keep(i, of_params[k], params);
    }
    if (first == 0 && norms != nullptr) *norms = *now;
  }

 private:
  BROADLOOM_HD int squares() const { return length.network.chunks + length.beside.chunks; }
  // Where there are few, which a chain would wait for one by one in the device's memory.
  static constexpr int kMostSquares = 2048;
  BROADLOOM_HD bool keeps_squares() const { return squares() <= kMostSquares; }
  template <class Block>
  BROADLOOM_HD ClippedLength fetch(Block& block, void* memory) const {
    double* const kept = static_cast<double*>(memory);
    const int of_network = length.network.chunks;
    for (int c = block.thread(); c < squares(); c += block.threads()) {
      kept[c] = c < of_network ? length.network.squares[c] : length.beside.squares[c - of_network];
    }
    return {{kept, of_network}, {kept + of_network, length.beside.chunks}};
  }
};

}  // namespace broadloom::cuda
