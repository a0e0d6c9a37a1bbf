// The memory of a block's tile: shared memory, or global memory if it does not fit.
#pragma once

#include <cstddef>

#include "cuda/sides/kernel.h"
#include "cuda/tile/network.h"
#include "cuda/tile/params.h"
#include "cuda/tile/tensor_tile.h"

namespace broadloom::cuda {

// The tile's memory, as kernels see it.
struct TileMemory {
  int rows;      // rows of a tile
  int floats;    // floats of a tile
  int cached;    // floats of a copy of a body's parameters, before the tile; 0: none
  int staged;    // floats of a stage before the tile for parameters without a copy (Stage); 0: read
                 // them in place
  float* spill;  // [blocks, floats] in global memory, cached in L2; null: in shared memory

  // The tile: behind the copy in `shared`, or spilt.
  template <class Block>
  BROADLOOM_HD float* memory(Block& block, float* shared) const {
    if (spill != nullptr) return spill + static_cast<std::size_t>(block.index()) * floats;
    return shared + cached + staged;
  }
};

// Sizes of a tile's memory.
struct TileRoom {
  int rows;            // rows of a tile
  int floats;          // floats of a tile
  int cached;          // floats of a copy of parameters
  std::size_t beside;  // bytes of shared memory that a block always needs
  bool spills = false;
  int staged = 0;  // floats of a stage for parameters without a copy

  std::size_t wanted_bytes() const { return beside + sizeof(float) * (floats + cached + staged); }
  std::size_t shared_bytes() const {
    return spills ? beside + sizeof(float) * staged : wanted_bytes();
  }
  // Allocates it for `blocks` blocks on a side (cuda/sides).
  template <class Side>
  TileMemory make(Side& side, std::size_t blocks) const {
    return {rows, floats, cached, staged,
            spills ? side.template allocate<float>(blocks * static_cast<std::size_t>(floats))
                   : nullptr};
  }
};

// Room for a body on tensor cores within `bytes`; fewer rows if it is too small. It has at least 8
// rows, and may then exceed `bytes` for very wide bodies.
inline TileRoom tensor_room_within(std::size_t bytes, const DeviceBody& body, int rows) {
  const auto room_of = [&](int count) {
    TileRoom room{count, TilePlaces(body, count, TilePlaces::kForward).size, 0, 0};
    room.staged = beside_tensor_tile(body);
    return room;
  };
  while (rows > kTensorRows && room_of(rows).wanted_bytes() > bytes) rows /= 2;
  return room_of(rows);
}

// Fits a room into `bytes` of shared memory. It drops the copy if that does not fit, and uses
// `stage` floats instead if those fit. It spills if the tile does not fit.
inline TileRoom room_within(std::size_t bytes, TileRoom room, int stage) {
  if (room.wanted_bytes() <= bytes) return room;
  room.cached = 0;
  room.spills = room.wanted_bytes() > bytes;
  room.staged = stage;
  if (room.shared_bytes() > bytes) room.staged = 0;
  return room;
}

}  // namespace broadloom::cuda
