// Where the tile of a block of threads is: in its shared memory, or in global memory where that
// does not hold it.
#pragma once

#include <cstddef>

#include "cuda/sides/kernel.h"
#include "cuda/tile/network.h"
#include "cuda/tile/params.h"
#include "cuda/tile/tensor_tile.h"

namespace broadloom::cuda {

// What kernels know of it.
struct TileMemory {
  int rows;      // of a tile
  int floats;    // of what is kept for it
  int cached;    // floats of a copy of a body's parameters, before it; 0: there is none
  int staged;    // of room before it by way of which they come then (Stage); 0: they are read where
                 // they are
  float* spill;  // [blocks, floats], which multiprocessors' common cache keeps; null: shared memory

  // Behind the copy in `shared`, or spilt.
  template <class Block>
  BROADLOOM_HD float* of(Block& block, float* shared) const {
    if (spill != nullptr) return spill + static_cast<std::size_t>(block.index()) * floats;
    return shared + cached + staged;
  }
};

// How much that is.
struct TileRoom {
  int rows;            // of a tile
  int floats;          // of it
  int cached;          // floats of a copy of parameters
  std::size_t beside;  // bytes of shared memory that a block takes in any case
  bool spills = false;
  int staged = 0;  // floats by way of which parameters come that have no copy

  std::size_t wanted_bytes() const { return beside + sizeof(float) * (floats + cached + staged); }
  std::size_t shared_bytes() const {
    return spills ? beside + sizeof(float) * staged : wanted_bytes();
  }
  // For so many blocks at a time, on a side (host_side.h, device_side.h).
  template <class Side>
  TileMemory make(Side& side, std::size_t blocks) const {
    return {rows, floats, cached, staged,
            spills ? side.template allocate<float>(blocks * static_cast<std::size_t>(floats))
                   : nullptr};
  }
};

// Of a body on tensor cores, within so many bytes: of fewer rows where there is no more room. At
// least of 8, which is more than there is for very wide bodies.
inline TileRoom tensor_room_within(std::size_t bytes, const DeviceBody& body, int rows) {
  const auto room_of = [&](int count) {
    TileRoom room{count, TilePlaces(body, count, TilePlaces::kForward).size, 0, 0};
    room.staged = beside_tensor_tile(body);
    return room;
  };
  while (rows > kTensorRows && room_of(rows).wanted_bytes() > bytes) rows /= 2;
  return room_of(rows);
}

// Within so many bytes of shared memory: without the copy where that does not fit, but with `stage`
// floats instead where those do, and spilt where the tile does not.
inline TileRoom room_within(std::size_t bytes, TileRoom room, int stage) {
  if (room.wanted_bytes() <= bytes) return room;
  room.cached = 0;
  room.spills = room.wanted_bytes() > bytes;
  room.staged = stage;
  if (room.shared_bytes() > bytes) room.staged = 0;
  return room;
}

}  // namespace broadloom::cuda
