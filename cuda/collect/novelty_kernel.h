// RND's prediction error for the next observations of a block, with the bits of Rnd (learn/rnd.h).
#pragma once

#include <cstddef>

#include "broadloom/learn/rnd_formulas.h"
#include "cuda/collect/row_runs.h"
#include "cuda/env/next_observations.h"
#include "cuda/tile/forward.h"

namespace broadloom::cuda {

// Target and predictor are one network with two sets of parameters. The same tile passes through
// both.
struct NoveltyKernel {
  static constexpr int kThreads = kCollectThreads, kBlocksAtOnce = 2;

  DeviceNetwork network;
  const float *target, *predictor;  // parameters
  NextSeen seen;
  RowRun run;
  float* targets;  // [B, outputs]
  float* novelty;  // [B] intrinsic rewards before scaling

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    float* const work = run.tiles.memory(block, block.template shared<float>());
    const int first = run.first(block), rows = run.rows(block), outputs = network.outputs;
    load_rows(block, seen, first, network.observation_size, rows, {nullptr, nullptr, 0.0f},
              work + run.places.x);
    const float* const made = work + run.places.outputs;
    float* const kept = targets + static_cast<std::size_t>(first) * outputs;
    // One copy of the code for both turns: with two, registers would limit a multiprocessor to one
    // block.
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int turn = 0; turn < 2; ++turn) {
      forward(block, turn == 0 ? target : predictor, work, rows);
      for (int e = block.thread(); turn == 0 && e < rows * outputs; e += block.threads()) {
        kept[e] = made[e % outputs * run.tiles.rows + e / outputs];
      }
    }
    const int r = block.thread();
    if (r >= rows) return;
    float sum = 0.0f;
    for (int o = 0; o < outputs; ++o) {
      sum = add_rnd_error(sum, made[o * run.tiles.rows + r], kept[r * outputs + o]);
    }
    novelty[first + r] = rnd_novelty(sum);
  }

 private:
  // Computes outputs [outputs, tiles.rows]. All threads must call it.
  template <class Block>
  BROADLOOM_HD void forward(Block& block, const float* params, float* work, int rows) const {
    const TileParams read = params_of(block, run.tiles, network.actor, params);
    block.sync();
    forward_tile<true>(block, network.actor, network.activation, read, run.places, work, rows);
  }
};

}  // namespace broadloom::cuda
