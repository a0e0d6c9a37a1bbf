// The work around a minibatch's gradient: normalisation of advantages, sum of partial gradients,
// clipping and Adam. It has the bits of Ppo, PartialGradients and Learner.
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

// Mean and scale of the advantages of each minibatch of an update. They depend only on the block
// and the permutations, so one launch makes them for all steps, one thread block per minibatch. As
// on the host, each has four chains. One warp adds them up, while the other threads fetch numbers.
struct ShiftKernel {
  static constexpr int kFetching = 256, kThreads = kWarp + kFetching, kAtOnce = 4 * kFetching;

  const float* advantages;      // [B]
  const std::int32_t* indices;  // [epochs, B]; null: all in order, one minibatch per epoch
  int samples, count;           // B, and minibatches per epoch
  AdvantageShift* shifts;       // [epochs, count]

  static KernelShape shape(int minibatches) {
    return {minibatches, kThreads, (4 + 2 * kAtOnce) * sizeof(double)};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int epoch = block.index() / count, m = block.index() % count;
    const int begin = minibatch_begin(m, samples, count);
    const int rows = minibatch_begin(m + 1, samples, count) - begin;
    const std::int32_t* const own_indices =
        indices == nullptr ? nullptr : indices + static_cast<std::size_t>(epoch) * samples + begin;
    const double mean = sum(block, own_indices, rows, [](double x) { return x; }) / rows;
    const double squares =
        sum(block, own_indices, rows, [mean](double x) { return (x - mean) * (x - mean); });
    if (block.thread() != 0) return;
    shifts[block.index()] =
        rows < 2 ? AdvantageShift() : AdvantageShift::from_moments(mean, squares, rows);
  }

 private:
  // Fetches four of the numbers starting at `first`; missing ones are 0.
  BROADLOOM_HD void fetch(const std::int32_t* own_indices, int first, int rows, int thread,
                          float (&own)[4]) const {
    for (int k = 0; k < 4; ++k) {
      const int i = first + k * kFetching + thread;
      own[k] = i < rows ? advantages[own_indices == nullptr ? i : own_indices[i]] : 0.0f;
    }
  }
  // Adds numbers i, i + 4, .... Many are read before the first is added.
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
  BROADLOOM_HD double sum(Block& block, const std::int32_t* own_indices, int rows,
                          Term&& term) const {
    double* const chains = block.template shared<double>();
    double* const terms = chains + 4;
    float own[4];
    double chain = 0.0;
    const int fetching = block.thread() - kWarp;  // below 0: an adding thread
    if (fetching >= 0) fetch(own_indices, 0, rows, fetching, own);
    for (int first = 0, turn = 0; first < rows; first += kAtOnce, turn ^= 1) {
      double* const here = terms + turn * kAtOnce;
      for (int k = 0; k < 4 && fetching >= 0; ++k) here[k * kFetching + fetching] = term(own[k]);
      block.sync();  // after it, the turn before the last has been added
      const int left = rows - first, end = left < kAtOnce ? left : kAtOnce;
      if (block.thread() < 4) add_chain(here, block.thread(), end, chain);
      if (fetching >= 0) fetch(own_indices, first + kAtOnce, rows, fetching, own);
    }
    if (block.thread() < 4) chains[block.thread()] = chain;
    block.sync();
    const double total = (chains[0] + chains[1]) + (chains[2] + chains[3]);
    block.sync();
    return total;
  }
};

// A range of the parameters: parameter_chunks() (learn/gradient_cut.h).
struct DeviceChunk {
  int begin, end;
};

// Adds the partial gradients pairwise into the first, in the host's tree, and sums the squares of
// each chunk. One thread block per chunk of at most 2,048 parameters.
struct ReduceKernel {
  static constexpr int kThreads = 1024, kMostOfChunk = 2048;
  // Numbers of the tree that a thread reads at once.
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
    // 32 chains; then the upper half is added to the lower half, as in sum_squares().
    double sum = 0.0;
    for (int i = block.thread(); i < chunk.end - chunk.begin; i += kWarp) {
      const double x = kept[i];
      sum += x * x;  // x * x is exact
    }
    for (int mask = kWarp / 2; mask > 0; mask /= 2) sum += block.shuffle_xor(sum, mask);
    if (block.thread() == 0) squares[block.index()] = sum;
  }

 private:
  // Adds neighbours first, then neighbouring sums. Each number is added to the number one stride
  // before it, if both exist.
  BROADLOOM_HD float sum_of(int i) const {
    float branches[kMostPartialGradients / kAtOnce];
    const int count = (partials + kAtOnce - 1) / kAtOnce;
    for (int b = 0; b < kMostPartialGradients / kAtOnce; ++b) {
      branches[b] = b < count ? branch(i, b * kAtOnce) : 0.0f;
    }
    return tree(branches, count);
  }
  BROADLOOM_HD float branch(int i, int first) const {
    float grads[kAtOnce];
    for (int p = 0; p < kAtOnce; ++p) {
      const bool is_there = first + p < partials;
      grads[p] =
          is_there ? partial_grads[static_cast<std::size_t>(first + p) * parameters + i] : 0.0f;
    }
    return tree(grads, partials - first);
  }
  // Sum of the first `count` numbers.
  template <int kCount>
  BROADLOOM_HD static float tree(float (&numbers)[kCount], int count) {
    for (int stride = 1; stride < kCount; stride *= 2) {
      for (int p = 0; p + stride < kCount; p += 2 * stride) {
        if (p + stride < count) numbers[p] += numbers[p + stride];
      }
    }
    return numbers[0];
  }
};

// The norm of a gradient, from the squares of its chunks.
struct GradientLength {
  const double* squares;
  int chunks;

  BROADLOOM_HD double operator()() const { return between(0, chunks); }
  // The norm of chunks [begin, end).
  BROADLOOM_HD double between(int begin, int end) const {
    double sum = 0.0;
    for (int c = begin; c < end; ++c) sum += squares[c];
    return std::sqrt(sum);
  }
};

// Norms before clipping: of the network's gradient, and of it together with RND's. The two are
// clipped together. sides: by which the parameters of policy and critic are clipped.
struct GradientNorms {
  double network = 0.0, clipped = 0.0;
  double sides[2] = {};
};
struct ClippedLength {
  GradientLength network, beside;  // beside: no chunks without RND
  int policy_chunks;               // if the sides are clipped apart, else 0

  BROADLOOM_HD GradientNorms norms() const {
    GradientNorms norms;
    norms.network = norms.clipped = network();
    if (beside.chunks > 0) {
      const double other = beside();
      norms.clipped = std::sqrt(norms.network * norms.network + other * other);
    }
    norms.sides[0] = policy_chunks > 0 ? network.between(0, policy_chunks) : norms.clipped;
    norms.sides[1] =
        policy_chunks > 0 ? network.between(policy_chunks, network.chunks) : norms.clipped;
    return norms;
  }
};

// Writes copies of parameters for tensor cores, one parameter per thread.
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

// One step of all parameters, several per thread. The threads load their numbers while one thread
// of a block computes the norms. If the rollout block has a fault, nothing is learnt from it.
struct AdamKernel {
  static constexpr int kThreads = 256, kEach = 4, kOfBlock = kThreads * kEach;

  const AdamFactors* factors;  // of the step
  double max_grad_norm;
  ClippedLength length;
  int parameters;
  DeviceChunk of_critic;  // parameters that are clipped as the critic's
  const float* gradient;  // [parameters]
  float *params, *m, *v;
  PackedWeights packed;        // packed copies behind the parameters
  GradientNorms* norms;        // output of this step; or null
  const std::uint64_t* fault;  // fault of the rollout block; null: not checked

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
    const float of_policy = static_cast<float>(clip_scale(now->sides[0], max_grad_norm));
    const float of_values = static_cast<float>(clip_scale(now->sides[1], max_grad_norm));
    for (int k = 0; k < kEach; ++k) {
      const int i = first + k * kThreads;
      if (i >= parameters) continue;
      const bool is_policys = i < of_critic.begin || i >= of_critic.end;
      const float scale = is_policys ? of_policy : of_values;
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
  // Few squares are copied to shared memory, because a chain in device memory waits for each.
  static constexpr int kMostSquares = 2048;
  BROADLOOM_HD bool keeps_squares() const { return squares() <= kMostSquares; }
  template <class Block>
  BROADLOOM_HD ClippedLength fetch(Block& block, void* memory) const {
    double* const kept = static_cast<double*>(memory);
    const int of_network = length.network.chunks;
    for (int c = block.thread(); c < squares(); c += block.threads()) {
      kept[c] = c < of_network ? length.network.squares[c] : length.beside.squares[c - of_network];
    }
    return {{kept, of_network}, {kept + of_network, length.beside.chunks}, length.policy_chunks};
  }
};

}  // namespace broadloom::cuda
