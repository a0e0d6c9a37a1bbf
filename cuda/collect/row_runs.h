// Rows that go through a body by themselves, tile by tile on every multiprocessor: who acts, values
// and looks.
#pragma once

#include <algorithm>
#include <cstddef>

#include "cuda/tile/forward.h"
#include "cuda/tile/network.h"
#include "cuda/tile/params.h"
#include "cuda/tile/room.h"

namespace broadloom::cuda {

// Threads of a block, and the most, which tensor cores have, whose rows are few.
inline constexpr int kCollectThreads = 256, kMostCollectThreads = 2 * kTensorPairs * kWarp;
static_assert(Stage::kThreads == kCollectThreads);
// Rows of a tile that are valued at a time.
inline constexpr int kValueRows = 64;

// Of a body that acts or values, with a copy of its parameters. bytes: of shared memory that a
// block may have.
inline TileRoom forward_room(const DeviceBody& body, int rows, std::size_t bytes) {
  if (body.is_rounded) return tensor_room_within(bytes, body, rows);
  const int size = TilePlaces(body, rows, TilePlaces::kForward).size;
  return room_within(bytes, {rows, size, cached_floats(body, false), 0}, Stage::kFloats);
}

// A thread block for each `rows` of so many rows.
inline KernelShape shape_of_rows(const DeviceBody& body, const TileRoom& room, int rows,
                                 int count) {
  return {(count + rows - 1) / rows, body.is_rounded ? kMostCollectThreads : kCollectThreads,
          room.shared_bytes()};
}

// Of the whole block of threads, before its first tile, or once nobody reads what it has copied
// before.
template <class Block>
BROADLOOM_HD TileParams params_of(Block& block, const TileMemory& tiles, const DeviceBody& body,
                                  const float* params) {
  if (tiles.cached == 0) {
    return {params, 0, nullptr, tiles.staged > 0 ? block.template shared<float>() : nullptr};
  }
  return cache_params(block, body, params, false, block.template shared<float>());
}

// What a kernel is told of the rows of one launch, of which a block has a tile.
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

// Launches for any number of rows, up to as many at a time as there is room for.
template <class Side>
class RowRuns {
 public:
  // most: of the rows of one go. side must outlive this.
  RowRuns(Side& side, const DeviceBody& body, int most)
      : side_(side),
        body_(body),
        room_(forward_room(body, kValueRows, side.shape().shared_bytes)),
        multiprocessors_(side.shape().multiprocessors),
        at_once_(room_.spills ? std::min(most, kSpilt) : most),
        blocks_(shape_of_rows(body, room_, room_.rows, at_once_).blocks),
        tiles_(room_.make(side, static_cast<std::size_t>(blocks_))) {}

  // make(RowRun): the kernel for some of the rows, which has kMostCollectThreads threads at most,
  // and kCollectThreads where its network is not on tensor cores.
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
  // Rows of one launch whose tiles do not fit shared memory: two blocks a multiprocessor of the
  // largest devices.
  static constexpr int kSpilt = 264 * kValueRows;

  // With fewer rows a block where there are few, so that every multiprocessor has some.
  TileMemory tiles_for(int count) const {
    TileMemory tiles = tiles_;
    const auto fits = [&](int rows) {
      return !room_.spills || (count + rows - 1) / rows <= blocks_;
    };
    while (tiles.rows > 8 && count / tiles.rows < multiprocessors_ && fits(tiles.rows / 2)) {
      tiles.rows /= 2;
    }
    return tiles;
  }

  Side& side_;
  DeviceBody body_;
  TileRoom room_;
  int multiprocessors_, at_once_, blocks_;
  TileMemory tiles_;
};

}  // namespace broadloom::cuda
