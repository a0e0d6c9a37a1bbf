// How badly RND's predictor does at what the transitions of a block led to, with the bits of Rnd
// (algorithms/rnd.h).
#pragma once

#include <cstddef>

#include "broadloom/algorithms/rnd_formulas.h"
#include "cuda/collect/row_runs.h"
#include "cuda/env/next_observations.h"
#include "cuda/tile/forward.h"

namespace broadloom::cuda {

// Target and predictor are one network under parameters of their own, through which the same tile
// goes twice.
struct NoveltyKernel {
  static constexpr int kThreads = kCollectThreads;

  DeviceNetwork network;
  const float *target, *predictor;  // parameters
  NextSeen seen;
  RowRun run;
  float* targets;  // [B, outputs]
  float* novelty;  // [B] intrinsic rewards, before they are scaled

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    float* const work = run.tiles.of(block, block.template shared<float>());
    const int first = run.first(block), rows = run.rows(block), outputs = network.outputs;
    load_rows(block, seen, first, network.observation_size, rows, {nullptr, nullptr, 0.0f},
              work + run.places.x);
    const float* const made = forward(block, target, work, rows);
    float* const kept = targets + static_cast<std::size_t>(first) * outputs;
    for (int e = block.thread(); e < rows * outputs; e += block.threads()) {
      kept[e] = made[e % outputs * run.tiles.rows + e / outputs];
    }
    const float* const predicted = forward(block, predictor, work, rows);
    const int r = block.thread();
    if (r >= rows) return;
    float sum = 0.0f;
    for (int o = 0; o < outputs; ++o) {
      sum = add_rnd_error(sum, predicted[o * run.tiles.rows + r], kept[r * outputs + o]);
    }
    novelty[first + r] = rnd_novelty(sum);
  }

 private:
  // Outputs [outputs, tiles.rows], once all threads have come here.
  template <class Block>
  BROADLOOM_HD const float* forward(Block& block, const float* params, float* work,
                                    int rows) const {
    const TileParams read = params_of(block, run.tiles, network.actor, params);
    block.sync();
    forward_tile(block, network.actor, network.activation, read, run.places, work, rows);
    return work + run.places.outputs;
  }
};

}  // namespace broadloom::cuda
