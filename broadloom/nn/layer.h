// One layer of a chain. The kinds are a closed set, each with a handwritten backward pass.
#pragma once

#include <cstddef>

#include "broadloom/math/convolution.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/math/max_pool.h"
#include "broadloom/nn/parameters.h"

namespace broadloom {

// Rows that pass through all layers together. A tile is small enough for its activations to stay in
// cache. The value is part of the bits contract, because sums over rows are grouped by tile.
inline constexpr int kTileRows = 64;

// A row as a layer sees it: a row-major image [height, width, channels]. Other rows are {1, 1,
// numbers}.
struct RowShape {
  int height = 1, width = 1, channels = 0;

  int size() const { return height * width * channels; }
};

enum class LayerKind {
  kLinear,       // y = x W + b
  kConvolution,  // math/convolution.h
  kLayerNorm,    // math/layer_norm.h, with gain and bias as parameters
  kMaxPool,      // math/max_pool.h
  kActivation,   // activation as a layer, because another layer also reads its input
  kAdd,          // sum of the input and an earlier layer's output
  kPart,         // a group of the chain's own input, divided by `divisor`
  kJoin,         // the outputs of all groups, side by side
};

struct Layer {
  LayerKind kind = LayerKind::kLinear;
  RowShape in, out;
  bool is_activated = false;  // the chain's activation is applied to the output, in place
  // Parameters. kLinear: W [in, out] and b [out]. kConvolution: W [patch, filters] and b [filters].
  // kLayerNorm: gain as W [1, size] and bias as b [size]. slice.out is 0 if there are none.
  LinearSlice slice = {};
  ConvolutionShape convolution = {};  // kConvolution
  PoolShape pool = {};                // kMaxPool
  std::size_t source = 0;             // kAdd: index of the layer whose output it adds
  std::size_t first = 0;              // kPart: its first number in the chain's input
  float divisor = 1.0f;               // kPart

  bool has_parameters() const { return slice.out > 0; }
  // Whether instruments check the health of its outputs: true if it ends in an activation. A unit
  // of an image is a filter.
  bool has_units() const { return is_activated || kind == LayerKind::kActivation; }
};

// PyTorch's default. Flax uses 1e-6; float32 cannot tell the difference where inputs vary at all.
inline constexpr double kLayerNormEpsilon = 1e-5;

// Writes the layer's output for x [rows, in] to y; rows <= kTileRows. added: the other input of
// kAdd. scratch: [Chain::scratch_size()], undefined afterwards, here and in the functions below.
template <class Real>
void layer_forward(const Layer& layer, Activation activation, const Real* params, const Real* x,
                   const Real* added, int rows, Real* y, Real* scratch);

// Backward pass. delta [rows, out] holds the derivative of y, and then the derivative before the
// activation. Adds the parameter derivatives to grads. Writes the derivative of x to below, unless
// that is null. transposed: weights written by layer_transpose().
template <class Real>
void layer_backward(const Layer& layer, Activation activation, const Real* params,
                    const Real* transposed, const Real* x, const Real* y, int rows, Real* delta,
                    Real* grads, Real* below, Real* scratch);

// Adds only the parameter derivatives to grads, from x and the delta that layer_backward() left.
// The layer must have parameters.
template <class Real>
void layer_parameter_gradient(const Layer& layer, const Real* params, const Real* x,
                              const Real* delta, int rows, Real* grads, Real* scratch);

// Writes the weights as layer_backward() reads them, to the same offsets in `transposed` [P].
template <class Real>
void layer_transpose(const Layer& layer, const Real* params, Real* transposed);

// Numbers of scratch that a layer may write to.
std::size_t layer_scratch(const Layer& layer);

}  // namespace broadloom
