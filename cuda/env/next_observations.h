// Next observations of a block's transitions, as in the host's read_next() (learn/rnd_loss.h).
#pragma once

#include <cstddef>

#include "broadloom/core/host_device.h"
#include "cuda/env/device_observations.h"
#include "cuda/env/normalise_kernels.h"

namespace broadloom::cuda {

// A transition's next observation in its environment; at an episode's end, the first observation of
// the next episode.
struct NextObservations {
  DeviceObservations observations, last;  // [T, N, D] of the block, and [N, D] after it
  std::size_t envs, all;                  // N, T * N

  BROADLOOM_HD float read(std::size_t row, int i, int width) const {
    const std::size_t next = row + envs;
    return next < all ? observations.read(next, i, width) : last.read(next - all, i, width);
  }
};

// The same, normalised.
struct NextSeen {
  NextObservations next;
  ObservationScale scale;

  BROADLOOM_HD float read(std::size_t row, int i, int width) const {
    return scale.apply(next.read(row, i, width), i);
  }
};

}  // namespace broadloom::cuda
