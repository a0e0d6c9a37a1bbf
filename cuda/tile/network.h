// The actor-critic network as kernels see it: two separate bodies, or one shared by both sides,
// with the offsets of their parameters.
#pragma once

#include "broadloom/core/host_device.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/nn/distribution_formulas.h"
#include "broadloom/nn/pair_formulas.h"
#include "cuda/tile/residual_shape.h"

namespace broadloom::cuda {

inline constexpr int kMostLayers = 8;
inline constexpr std::size_t kMostParameters = 2147483647;  // offsets are ints

// The places of a row to which a layer's weights are applied. A dense layer's are applied once, to
// the whole row. A convolution's are applied at each output pixel, to a patch of several runs of
// adjacent numbers.
struct Patches {
  int down = 1, across = 1;            // output pixels
  int next_down = 0, next_across = 0;  // distance of patches
  int run = 0, next_run = 0;           // numbers of a run, and distance of runs

  BROADLOOM_HD int count() const { return down * across; }
  // Offset of a pixel's patch in the row, and offset of number i in the patch.
  BROADLOOM_HD int begin(int pixel) const {
    return pixel / across * next_down + pixel % across * next_across;
  }
  BROADLOOM_HD int at(int i) const { return i / run * next_run + i % run; }
  // Whether all patches and runs begin at multiples of four.
  BROADLOOM_HD bool are_in_fours() const {
    return (run | next_run | next_across | next_down) % 4 == 0;
  }
};

// W [in, out] and b [out] of a layer; a head's W is [out, in]. See LinearSlice. For a convolution,
// in is the patch and out the filters. A convolution whose only patch is the whole image is dense.
struct DeviceLayer {
  int in = 0, out = 0;
  int weight = 0, bias = 0;
  int row_in = 0;  // numbers of its input row
  Patches patches;
  // Offsets of the copies of W for tensor cores (packed_weights.h); 0: none.
  int packed = 0, packed_back = 0;

  BROADLOOM_HD int row_out() const { return patches.count() * out; }
  BROADLOOM_HD bool is_dense() const { return in == row_in; }
};

// Gain and bias [size] of a normalisation before the activation. Each of the `parts` parts of a
// row, with `size` numbers, is normalised separately.
struct DeviceNorm {
  int gain = -1, bias = -1;
  int size = 0, parts = 0;
  BROADLOOM_HD bool is_there() const { return gain >= 0; }
};

// Hidden layers and a head, after residual sections if there are some. With a second head, for
// values, it is the whole network.
struct DeviceBody {
  int layers;
  DeviceLayer hidden[kMostLayers];
  DeviceNorm norms[kMostLayers];
  DeviceLayer head;
  int begin, end;  // its parameters, without log_std
  DeviceLayer value_head = {};
  ResidualSections residual = {};
  bool is_rounded = false;  // tensor cores compute its layers' products (packed_weights.h)
  BROADLOOM_HD bool has_two_heads() const { return value_head.out > 0; }
  BROADLOOM_HD bool begins_with_image() const { return layers > 0 && !hidden[0].is_dense(); }
  BROADLOOM_HD bool is_of_image(int l) const { return l == 0 && begins_with_image(); }
  BROADLOOM_HD int row_in() const {
    if (residual.are_there()) return residual.row_in();
    return layers > 0 ? hidden[0].row_in : head.row_in;
  }
};

struct DeviceNetwork {
  // Action values use only the first. A shared body is `actor` with both heads; `critic` is then
  // the same body with only the value head, for kernels that need only values.
  DeviceBody actor, critic;
  int observation_size;  // of the policy
  int outputs, parameters;
  int values;  // value outputs of the critic
  bool action_values;
  int log_std;  // offset
  Activation activation;
  // The numbers of a Box, and how they are distributed (PolicyDistribution). Deviations that are
  // parameters act by `deviation`, and begin at log_std.
  PairShape pairs;
  bool uses_pairs, is_squashed, has_log_std;
  StdParameter<float> deviation;
  int kept = 1;  // arrays [outputs, rows] of numbers that a loss keeps from rows to their sums

  // Number a of a Gaussian's action, from a row's outputs [outputs, stride].
  BROADLOOM_HD GaussianDimension dimension(const float* params, const float* row_outputs,
                                           int stride, int a) const {
    return {row_outputs[a * stride], deviation.log_std(params[log_std + a])};
  }
  // Likewise with uses_pairs.
  BROADLOOM_HD PairDimension pair(const float* params, const float* row_outputs, int stride,
                                  int a) const {
    const float second = has_log_std ? deviation.log_std(params[log_std + a])
                                     : row_outputs[(pairs.count + a) * stride];
    return {pairs, row_outputs[a * stride], second};
  }
  // Kept numbers of a row.
  BROADLOOM_HD int kept_numbers() const { return kept * outputs; }
  BROADLOOM_HD bool is_rounded() const { return actor.is_rounded; }
  // Number of sides that learn separately.
  BROADLOOM_HD int sides() const { return action_values || actor.has_two_heads() ? 1 : 2; }
  BROADLOOM_HD const DeviceBody& body(int side) const { return side == 0 ? actor : critic; }
  // The body that values an observation.
  BROADLOOM_HD const DeviceBody& valuer() const { return action_values ? actor : critic; }
};

// Layout of a tile's workspace for a body, in floats. A row of x and of each layer's output takes
// an odd number of fours. Rows thus begin at multiples of 16 bytes, and threads that read fours of
// neighbouring rows hit different banks.
//
// The backward pass keeps normalised values before the activation, moments and deltas. Otherwise
// the outputs overwrite those values, and all moments use the first layer's place, because its rows
// have the most parts. Kernels receive the layout as an argument: if threads computed it, it would
// be in their local memory.
struct TilePlaces {
  enum Use { kForward, kForwardAndBack };

  int rows;  // rows of the workspace
  int x;     // what the body reads
  ResidualPlaces residual;
  int inputs, inputs_delta;  // of the first layer: x, or the output of residual sections
  int linear[kMostLayers], hidden[kMostLayers], moments[kMostLayers];
  int delta[kMostLayers];   // derivatives before the activation
  int before[kMostLayers];  // derivatives before the normalisation
  int outputs, values, size;

  TilePlaces() = default;
  BROADLOOM_HD static int row(int width) { return padded_row(width); }
  BROADLOOM_HD TilePlaces(const DeviceBody& body, int room, Use use)
      : rows(room), x(0), residual{} {
    const bool goes_back = use == kForwardAndBack;
    size = rows * row(body.row_in());
    inputs = inputs_delta = x;
    if (body.residual.are_there()) {
      size = residual.make(body.residual, rows, goes_back, size);
      inputs = residual.top(body.residual);
      inputs_delta = goes_back ? residual.top_delta(body.residual) : x;
    }
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
    outputs = size;  // [outputs, rows], column r for row r, as on the host
    size += rows * body.head.out;
    values = size;  // the same for a second head
    size += rows * body.value_head.out;
  }
  // Output of the last layer, which the head reads.
  BROADLOOM_HD int top(const DeviceBody& body) const {
    return body.layers > 0 ? hidden[body.layers - 1] : inputs;
  }
};

// Whether the kernels support the network: at most kMostParameters, and bodies of at most
// kMostLayers layers. All layers of a body are normalised or none. A body may begin with
// convolutions without padding, on tensor cores with one, or with residual sections.
//
// The bodies are separate, and the critic may read an observation of its own and gives at most two
// values. Or there is one such body, shared or for action values.
bool fits_kernels(const ActorCritic& network);
// Whether groups of an observation pass through layers of their own, or only some reach a side.
// Kernels know only whole rows.
bool reads_groups(const ActorCritic& network);
// Only for networks that fit.
DeviceNetwork device_network(const ActorCritic& network);

}  // namespace broadloom::cuda
