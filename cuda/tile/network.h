// The actor-critic network as kernels see it: bodies apart, or one that both sides share, with
// where their parameters are.
#pragma once

#include "broadloom/core/host_device.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom::cuda {

inline constexpr int kMostLayers = 8;
inline constexpr std::size_t kMostParameters = 2147483647;  // offsets are ints

// Where in a row a layer's weights are applied: a dense layer's once, to all of it, a convolution's
// at each pixel of its output, to a patch that is so many runs of neighbouring numbers.
struct Patches {
  int down = 1, across = 1;            // pixels of the output
  int next_down = 0, next_across = 0;  // numbers from one patch to the next
  int run = 0, next_run = 0;           // numbers of a run, and from one run to the next

  BROADLOOM_HD int count() const { return down * across; }
  // Where a pixel's patch begins, and where the patch's i-th number is from there on.
  BROADLOOM_HD int begin(int pixel) const {
    return pixel / across * next_down + pixel % across * next_across;
  }
  BROADLOOM_HD int at(int i) const { return i / run * next_run + i % run; }
};

// W [in, out] and b [out] of a layer; a head's W is [out, in]. See LinearSlice. Of a convolution
// they are patch and filters.
struct DeviceLayer {
  int in = 0, out = 0;
  int weight = 0, bias = 0;
  int row_in = 0;  // numbers of a row that it reads
  Patches patches;
  // Where copies of W for tensor cores are (packed_weights.h); 0: there are none.
  int packed = 0, packed_back = 0;

  BROADLOOM_HD int row_out() const { return patches.count() * out; }
};

// Gain and bias [size] by which a layer's outputs are normalised before its activation, each `size`
// of them by themselves: so many parts of a row.
struct DeviceNorm {
  int gain = -1, bias = -1;
  int size = 0, parts = 0;
  BROADLOOM_HD bool is_there() const { return gain >= 0; }
};

// Hidden layers and a head, or two of which the second gives values: then it is the whole network.
struct DeviceBody {
  int layers;
  DeviceLayer hidden[kMostLayers];
  DeviceNorm norms[kMostLayers];
  DeviceLayer head;
  int begin, end;  // its parameters, but for log_std
  DeviceLayer value_head = {};
  bool is_rounded = false;  // layers' products are made by tensor cores (packed_weights.h)
  BROADLOOM_HD bool has_two_heads() const { return value_head.out > 0; }
  BROADLOOM_HD bool begins_with_image() const {
    return layers > 0 && hidden[0].patches.count() > 1;
  }
  BROADLOOM_HD bool is_of_image(int l) const { return l == 0 && begins_with_image(); }
  BROADLOOM_HD int row_in() const { return layers > 0 ? hidden[0].row_in : head.row_in; }
};

struct DeviceNetwork {
  // Of action values there is the first alone. Of a shared body the first has both heads, and the
  // second is the same with the head of values alone, for who asks for no more.
  DeviceBody actor, critic;
  int observation_size, outputs, parameters;
  int values;  // that a critic gives of an observation
  bool is_discrete, action_values;
  int log_std;  // offset; Gaussian only
  Activation activation;

  BROADLOOM_HD bool is_rounded() const { return actor.is_rounded; }
  // What is learnt by itself.
  BROADLOOM_HD int sides() const { return action_values || actor.has_two_heads() ? 1 : 2; }
  BROADLOOM_HD const DeviceBody& body(int side) const { return side == 0 ? actor : critic; }
  // What says the value of an observation.
  BROADLOOM_HD const DeviceBody& valuer() const { return action_values ? actor : critic; }
};

// Where a body's numbers of one tile are, in floats, from the tile's workspace on. A row of x and
// of each layer's output takes an odd number of fours, so that it begins at a multiple of 16 bytes
// and threads that read fours of neighbouring rows find them in other banks. What a normalised
// layer is before its activation, the moments of its rows, and deltas are kept for who goes back
// through the tile; else they have the places of what comes of them, and moments those of the first
// layer, whose rows have the most parts. Kernels are given it: threads that made it would have it
// in memory of their own.
struct TilePlaces {
  enum Use { kForward, kForwardAndBack };

  int rows;  // of room
  int x, linear[kMostLayers], hidden[kMostLayers], moments[kMostLayers];
  int delta[kMostLayers];   // derivatives before the activation,
  int before[kMostLayers];  // and before what is activated was normalised
  int outputs, values, size;

  TilePlaces() = default;
  BROADLOOM_HD static int row(int width) { return ((width + 3) / 4 | 1) * 4; }
  BROADLOOM_HD TilePlaces(const DeviceBody& body, int room, Use use) : rows(room), x(0) {
    const bool goes_back = use == kForwardAndBack;
    size = rows * row(body.row_in());
    for (int l = 0; l < body.layers; ++l) {
      const int all = rows * row(body.hidden[l].row_out());
      linear[l] = size;
      if (body.norms[l].is_there() && goes_back) size += all;
      hidden[l] = size;
      size += all;
      delta[l] = size;
      if (goes_back) size += all;
      before[l] = size;
      if (body.norms[l].is_there() && goes_back) size += all;
      moments[l] = l > 0 && !goes_back ? moments[0] : size;
      if (body.norms[l].is_there() && (l == 0 || goes_back)) {
        size += 2 * rows * body.norms[l].parts;
      }
    }
    outputs = size;  // [outputs, rows], a row of the tile a column, as the host has them
    size += rows * body.head.out;
    values = size;  // of a second head, likewise
    size += rows * body.value_head.out;
  }
  // The last layer's, which the head reads.
  BROADLOOM_HD int top(const DeviceBody& body) const {
    return body.layers > 0 ? hidden[body.layers - 1] : x;
  }
};

// Whether kernels know it: at most kMostParameters, in fp32 bodies of at most kMostLayers layers,
// all of which are normalised or none, of which
// the first may be a convolution without padding, that have nothing in common and read the same
// observation, and of which the critic gives at most two values; or one such body that they share,
// or of action values.
bool fits_kernels(const ActorCritic& network);
// Only where it fits.
DeviceNetwork device_network(const ActorCritic& network);

}  // namespace broadloom::cuda
