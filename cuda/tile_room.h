// Where the tile of a block of threads is: in its shared memory, or in global memory where that
// does not hold it.
#pragma once

#include <cstddef>

#include "cuda/kernel.h"

namespace broadloom::cuda {

// Shared memory that any device gives unasked.
inline constexpr std::size_t kUsualSharedBytes = 48 * 1024;

// What kernels know of it.
struct TileMemory {
  int floats;    // of a tile
  float* spill;  // [blocks, floats], which multiprocessors' common cache keeps; null: shared memory

  template <class Block>
  BROADLOOM_HD float* of(Block& block, float* shared) const {
    return spill == nullptr ? shared : spill + static_cast<std::size_t>(block.index()) * floats;
  }
};

// How much that is.
struct TileRoom {
  int floats;          // of a tile
  std::size_t beside;  // bytes of shared memory that a block takes in any case

  bool spills() const { return beside + sizeof(float) * floats > kUsualSharedBytes; }
  std::size_t shared_bytes() const { return beside + (spills() ? 0 : sizeof(float) * floats); }
  // For so many blocks at a time, on a side (host_side.h, device_side.h).
  template <class Side>
  TileMemory make(Side& side, std::size_t blocks) const {
    return {floats, spills() ? side.template allocate<float>(blocks * floats) : nullptr};
  }
};

}  // namespace broadloom::cuda
