// Rows that pass through a body alone, tile by tile on every multiprocessor: for actions, values
// and novelty.
#pragma once

#include <algorithm>
#include <cstddef>

#include "cuda/tile/forward.h"
#include "cuda/tile/network.h"
#include "cuda/tile/params.h"
#include "cuda/tile/room.h"

namespace broadloom::cuda {

// Threads of a block, and the maximum. Tensor cores use the maximum, because they have few rows.
inline constexpr int kCollectThreads = 256, kMostCollectThreads = 2 * kTensorPairs * kWarp;
static_assert(Stage::kThreads == kCollectThreads);
// Rows of a tile of values.
inline constexpr int kValueRows = 64;

// Memory for a body that acts or values, with a copy of its parameters. bytes: shared memory
// available to a block.
inline TileRoom forward_room(const DeviceBody& body, int rows, std::size_t bytes) {
  if (body.is_rounded) return tensor_room_within(bytes, body, rows);
  const int size = TilePlaces(body, rows, TilePlaces::kForward).size;
  return room_within(bytes, {rows, size, cached_floats(body, false), 0}, Stage::kFloats);
}

// One thread block per `rows` of the `count` rows.
inline KernelShape shape_of_rows(const DeviceBody& body, const TileRoom& room, int rows,
                                 int count) {
  return {(count + rows - 1) / rows, body.is_rounded ? kMostCollectThreads : kCollectThreads,
          room.shared_bytes()};
}

// Loads parameters with the whole thread block. Call it before the first tile, or once no thread
// reads the previous copy.
template <class Block>
BROADLOOM_HD TileParams params_of(Block& block, const TileMemory& tiles, const DeviceBody& body,
                                  const float* params) {
  if (tiles.cached == 0) {
    return {params, 0, nullptr, tiles.staged > 0 ? block.template shared<float>() : nullptr};
  }
  return cache_params(block, body, params, false, block.template shared<float>());
}

// The rows of one launch; each block has one tile of them.
struct RowRun {
  int begin, end;
  TileMemory tiles;
  TilePlaces places;

  template <class Block>
  BROADLOOM_HD int first(Block& block) const {
    return begin + block.index() * tiles.rows;
  }
  template <class Block>
  BROADLOOM_HD int rows(Block& block) const {
    const int left = end - first(block);
    return left < tiles.rows ? left : tiles.rows;
  }
};

// Launches for any number of rows, as many rows at a time as fit.
template <class Side>
class RowRuns {
 public:
  // most: largest number of rows of one run(). side must outlive this object.
  RowRuns(Side& side, const DeviceBody& body, int most)
      : side_(side),
        body_(body),
        room_(forward_room(body, kValueRows, side.shape().shared_bytes)),
        multiprocessors_(side.shape().multiprocessors),
        at_once_(room_.spills ? std::min(most, spilt_rows(room_)) : most),
        tiles_(room_.make(side, static_cast<std::size_t>(
                                    shape_of_rows(body, room_, room_.rows, at_once_).blocks))) {}

  // make(RowRun) returns the kernel for some of the rows. It has at most kMostCollectThreads
  // threads, or kCollectThreads if its network does not use tensor cores.
  template <class Make>
  void run(int count, Make&& make) {
    for (int begin = 0; begin < count; begin += at_once_) {
      const int end = std::min(begin + at_once_, count);
      const TileMemory tiles = tiles_for(end - begin);
      side_.run(
          make(RowRun{begin, end, tiles, TilePlaces(body_, tiles.rows, TilePlaces::kForward)}),
          shape_of_rows(body_, room_, tiles.rows, end - begin));
    }
  }

 private:
  // Rows of one launch whose tiles do not fit into shared memory: two blocks per multiprocessor of
  // the largest devices, within 4 GB.
  static int spilt_rows(const TileRoom& room) {
    constexpr int kTiles = 264, kMostFloats = 1 << 30;
    return std::clamp(kMostFloats / room.floats, 1, kTiles) * room.rows;
  }

  // Uses fewer rows per block if there are few, so that every multiprocessor has some.
  TileMemory tiles_for(int count) const {
    TileMemory tiles = tiles_;
    while (tiles.rows > 8 && count / tiles.rows < multiprocessors_) {
      tiles.rows /= 2;
      tiles.floats /= 2;  // spilt tiles lie side by side
    }
    return tiles;
  }

  Side& side_;
  DeviceBody body_;
  TileRoom room_;
  int multiprocessors_, at_once_;
  TileMemory tiles_;
};

}  // namespace broadloom::cuda
