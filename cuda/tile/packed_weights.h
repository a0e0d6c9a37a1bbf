// Weights for tensor cores: rounded to TF32, in the order in which a warp's threads hold them
// (sides/tf32.h). A thread thus reads its numbers at once. The copies follow the parameters in
// memory.
#pragma once

#include <cstddef>

#include "cuda/sides/kernel.h"
#include "cuda/sides/tf32.h"
#include "cuda/tile/network.h"

namespace broadloom::cuda {

// A matrix [wide, depth] in pieces of 16 by 8 numbers, padded with zeros.
struct PackedMatrix {
  int wide, depth;

  BROADLOOM_HD int steps() const { return (depth + 7) / 8; }
  BROADLOOM_HD int floats() const { return (wide + 15) / 16 * steps() * kPiece; }
  // In a piece's depth of eight, a thread holds two neighbours as if they were `within` and `within
  // + 4`. The other factor uses the same order, so the sum stays the same.
  BROADLOOM_HD int place(int w, int d) const {
    const int lane = w % 8 * 4 + d % 8 / 2, of_thread = w % 16 / 8 + d % 2 * 2;
    return (w / 16 * steps() + d / 8) * kPiece + lane * 4 + of_thread;
  }
  static constexpr int kPiece = 4 * kWarp;
};

// The parameters with packed copies, and the offsets of these.
struct PackedWeights {
  struct Layer {
    int weight, in, out;
    int forward, back;  // [out, in] and [in, out] packed; back: 0 if no backward pass needs it
  };
  int count = 0;
  Layer layers[2 * kMostLayers];
  std::size_t floats = 0;  // size of parameters and copies

  explicit PackedWeights(const DeviceNetwork& network)
      : floats(static_cast<std::size_t>(network.parameters)) {
    for (int side = 0; side < network.sides() && network.is_rounded(); ++side) {
      const DeviceBody& body = network.body(side);
      for (int l = 0; l < body.layers; ++l) {
        const DeviceLayer& layer = body.hidden[l];
        layers[count++] = {layer.weight, layer.in, layer.out, layer.packed, layer.packed_back};
        floats = end_of(layer);
      }
    }
  }

  // Writes a parameter's copies.
  BROADLOOM_HD void keep(int parameter, float value, float* params) const {
    for (int l = 0; l < count; ++l) {
      const Layer& layer = layers[l];
      const int e = parameter - layer.weight;
      if (e < 0 || e >= layer.in * layer.out) continue;
      const float kept = to_tf32(value);
      const int i = e / layer.out, o = e % layer.out;
      params[layer.forward + PackedMatrix{layer.out, layer.in}.place(o, i)] = kept;
      if (layer.back > 0) params[layer.back + PackedMatrix{layer.in, layer.out}.place(i, o)] = kept;
    }
  }

  // Assigns offsets to the layers of a body, starting at `begin`. Returns their end.
  static int place(DeviceBody& body, int begin) {
    body.is_rounded = true;
    for (int l = 0; l < body.layers; ++l) {
      DeviceLayer& layer = body.hidden[l];
      layer.packed = begin;
      begin += PackedMatrix{layer.out, layer.in}.floats();
      layer.packed_back = l > 0 ? begin : 0;
      if (l > 0) begin += PackedMatrix{layer.in, layer.out}.floats();
    }
    return begin;
  }

 private:
  static std::size_t end_of(const DeviceLayer& layer) {
    const int last = layer.packed_back > 0 ? layer.packed_back : layer.packed;
    const PackedMatrix matrix = layer.packed_back > 0 ? PackedMatrix{layer.in, layer.out}
                                                      : PackedMatrix{layer.out, layer.in};
    return static_cast<std::size_t>(last) + static_cast<std::size_t>(matrix.floats());
  }
};

}  // namespace broadloom::cuda
