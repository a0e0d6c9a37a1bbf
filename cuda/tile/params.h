// A body's parameters as a thread block reads them: in device memory, or a copy in shared memory.
#pragma once

#include "broadloom/core/host_device.h"
#include "cuda/sides/kernel.h"
#include "cuda/tile/network.h"

namespace broadloom::cuda {

struct TileParams {
  const float* start;  // address of parameter `first`
  int first = 0;
  const float* transposed = nullptr;  // W [out, in] of hidden layers, each at the offset of its W
                                      // [in, out]; null: none
  // Shared memory: a stage for the parameters, or the tensor cores' scratch beside a tile
  // (beside_tensor_tile()); null: none.
  float* stage = nullptr;

  BROADLOOM_HD const float* at(int parameter) const { return start + (parameter - first); }
  BROADLOOM_HD const float* transposed_at(int parameter) const {
    return transposed + (parameter - first);
  }
};

// Floats of the copy, a multiple of four.
BROADLOOM_HD inline int cached_floats(const DeviceBody& body, bool transposed) {
  const int one = (body.end - body.begin + 3) / 4 * 4;
  return transposed && body.layers > 1 ? 2 * one : one;
}

// Transposes W [in, out] to [out, in]. Each warp walks down a diagonal, so that both reads and
// writes hit different banks.
template <class Block>
BROADLOOM_HD void transpose(Block& block, const float* source, int in, int out, float* target) {
  const int across = (out + kWarp - 1) / kWarp, down = (in + kWarp - 1) / kWarp;
  for (int e = block.thread(); e < across * down * kWarp * kWarp; e += block.threads()) {
    const int lane = e % kWarp, step = e / kWarp % kWarp, square = e / (kWarp * kWarp);
    const int o = square % across * kWarp + lane;
    const int i = square / across * kWarp + (lane + step) % kWarp;
    if (i < in && o < out) target[o * in + i] = source[i * out + o];
  }
}

// Copies a body's parameters to `room`, of cached_floats(). The previous contents must not be
// needed any more; the copy is complete on return (sync()).
template <class Block>
BROADLOOM_HD TileParams cache_params(Block& block, const DeviceBody& body, const float* params,
                                     bool transposed, float* room) {
  const int count = body.end - body.begin;
  for (int i = block.thread(); i < count; i += block.threads()) room[i] = params[body.begin + i];
  block.sync();
  if (!transposed || body.layers < 2) return {room, body.begin};
  float* const turned = room + cached_floats(body, false);
  for (int l = 1; l < body.layers; ++l) {
    const DeviceLayer& layer = body.hidden[l];
    const int begin = layer.weight - body.begin;
    transpose(block, room + begin, layer.in, layer.out, turned + begin);
  }
  block.sync();
  return {room, body.begin, turned};
}

}  // namespace broadloom::cuda
