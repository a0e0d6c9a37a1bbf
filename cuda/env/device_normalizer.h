// The host's ObsNormalizer at work on a side (cuda/sides).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/nn/layer.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/block_shape.h"
#include "broadloom/rollout/normalizer.h"
#include "cuda/env/normalise_kernels.h"

namespace broadloom::cuda {

template <class Side>
class DeviceNormalizer {
 public:
  // host: null if observations are used as they are. host and side must outlive this object.
  // shapes: all shapes of blocks, the initial one first.
  DeviceNormalizer(Side& side, ObsNormalizer* host, std::span<const BlockShape> shapes)
      : side_(side), host_(host), plan_(plan_for(shapes[0])), scale_{nullptr, nullptr, 0.0f} {
    if (host_ == nullptr) return;
    int most = 0;  // shards
    for (const BlockShape& shape : shapes) most = std::max(most, plan_for(shape).count());
    mean_ = side_.template allocate<double>(columns());
    of_deviation_ = side_.template allocate<double>(columns());
    sums_ = side_.template allocate<double>(sums_of(most));
    scale_ = {mean_, of_deviation_, host_->clip()};
  }

  void reshape(const BlockShape& shape) { plan_ = plan_for(shape); }

  // Call it before each block: copies the host's statistics to the side.
  void begin_block() {
    if (host_ == nullptr) return;
    side_.copy_in(mean_, host_->mean().data(), columns());
    side_.copy_in(of_deviation_, host_->scale().data(), columns());
  }
  // The scaling of raw observations in this block.
  const ObservationScale& scale() const { return scale_; }

  // Adds up raw rows [T, N, D] of a block in the host's order: MomentsKernel.
  template <class Rows>
  void add_up(const Rows& rows, bool by_tiles, int T, int N) {
    if (host_ == nullptr) return;
    const int D = static_cast<int>(columns());
    using Moments = MomentsKernel<Rows>;
    side_.run(Moments{rows, by_tiles, T, N, D, plan_[0].size(), mean_, sums_},
              Moments::shape(plan_.count(), D));
    steps_ = T;
  }
  // Normalises raw rows [count, D]; `target` may be `source`.
  template <class Number>
  void normalise(const Number* source, std::size_t count, int D, Number* target) {
    const std::size_t numbers = count * static_cast<std::size_t>(D);
    constexpr int kThreads = 256;
    side_.run(NormaliseKernel<Number>{source, target, numbers, D, scale_},
              {static_cast<int>((numbers + kThreads - 1) / kThreads), kThreads, 0});
  }

  // Copies the block's sums to the host. take_sums() then hands them to the host's normaliser,
  // whose commit() merges them.
  void bring_sums() {
    if (host_ == nullptr) return;
    brought_.resize(sums_of(plan_.count()));
    side_.copy_out(brought_.data(), sums_, brought_.size());
  }
  void take_sums() {
    if (host_ == nullptr) return;
    for (int s = 0; s < plan_.count(); ++s) {
      const double* const of_shard = &brought_[static_cast<std::size_t>(2 * s) * host_->places()];
      host_->set_sums(s, static_cast<double>(steps_) * plan_[s].size(), of_shard,
                      of_shard + host_->places());
    }
  }

 private:
  std::size_t columns() const { return host_->places() / ObsNormalizer::kChains; }
  std::size_t sums_of(int shards) const {
    return 2 * host_->places() * static_cast<std::size_t>(shards);
  }
  static ShardPlan plan_for(const BlockShape& shape) { return {shape.num_envs, kTileRows}; }

  Side& side_;
  ObsNormalizer* host_;
  ShardPlan plan_;  // the collector's plan
  ObservationScale scale_;
  double *mean_ = nullptr, *of_deviation_ = nullptr, *sums_ = nullptr;
  std::vector<double> brought_;  // sums, on the host
  int steps_ = 0;                // of the present block
};

}  // namespace broadloom::cuda
