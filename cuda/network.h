// The actor-critic network as kernels see it: MLPs apart, with where their parameters are.
#pragma once

#include "broadloom/core/host_device.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom::cuda {

inline constexpr int kMostLayers = 4;
inline constexpr int kWidest = 128;

// W [in, out] and b [out] of a layer; a head's W is [out, in]. See LinearSlice.
struct DeviceLayer {
  int in, out;
  int weight, bias;
};

// Gain and bias [out] by which a layer's outputs are normalised before its activation.
struct DeviceNorm {
  int gain = -1, bias = -1;
  BROADLOOM_HD bool is_there() const { return gain >= 0; }
};

// Hidden layers and a head.
struct DeviceBody {
  int layers;
  DeviceLayer hidden[kMostLayers];
  DeviceNorm norms[kMostLayers];
  DeviceLayer head;
  int begin, end;  // its parameters, but for log_std
};

struct DeviceNetwork {
  DeviceBody actor, critic;  // of action values there is the first alone
  int observation_size, outputs, parameters;
  bool is_discrete, action_values;
  int log_std;  // offset; Gaussian only
  Activation activation;

  BROADLOOM_HD int sides() const { return action_values ? 1 : 2; }
  BROADLOOM_HD const DeviceBody& body(int side) const { return side == 0 ? actor : critic; }
  // What says the value of an observation.
  BROADLOOM_HD const DeviceBody& valuer() const { return action_values ? actor : critic; }
};

// Where a body's numbers of one tile are, in floats, from the tile's workspace on. A row of x and
// of each layer's output takes an odd number of places, so that threads that read one column of
// neighbouring rows find them in other banks. What a normalised layer is before it is normalised,
// and the moments of its rows, are kept for who goes back through the tile; else they have the
// places of what comes of them, and of the layer before.
struct TilePlaces {
  enum Use { kForward, kForwardAndBack };

  int rows;  // of room
  int x, linear[kMostLayers], hidden[kMostLayers], moments[kMostLayers], outputs, size;

  BROADLOOM_HD static int row(int width) { return width | 1; }
  BROADLOOM_HD TilePlaces(const DeviceBody& body, int room, Use use) : rows(room), x(0) {
    size = rows * row(body.layers > 0 ? body.hidden[0].in : body.head.in);
    for (int l = 0; l < body.layers; ++l) {
      const bool keeps = use == kForwardAndBack;
      linear[l] = size;
      if (body.norms[l].is_there() && keeps) size += rows * row(body.hidden[l].out);
      hidden[l] = size;
      size += rows * row(body.hidden[l].out);
      moments[l] = l > 0 && !keeps ? moments[0] : size;
      if (body.norms[l].is_there() && (l == 0 || keeps)) size += 2 * rows;
    }
    outputs = size;  // [outputs, rows], a row of the tile a column, as the host has them
    size += rows * body.head.out;
  }
  // The last layer's, which the head reads.
  BROADLOOM_HD int top(const DeviceBody& body) const {
    return body.layers > 0 ? hidden[body.layers - 1] : x;
  }
};

// Whether kernels know it: fp32 MLPs of at most kMostLayers layers, no wider than kWidest,
// normalised or not, that have nothing in common and read the same observation, or one MLP of
// action values.
bool fits_kernels(const ActorCritic& network);
// Only where it fits.
DeviceNetwork device_network(const ActorCritic& network);

}  // namespace broadloom::cuda
