// One layer of a chain: a closed set of kinds, each with its backward pass written out.
#pragma once

#include <cstddef>

#include "broadloom/math/convolution.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/math/max_pool.h"
#include "broadloom/nn/parameters.h"

namespace broadloom {

// Rows that pass through all layers together: small enough that a tile's activations stay in cache.
// Part of the bits contract: sums over rows are grouped by tile.
inline constexpr int kTileRows = 64;

// A row as a layer sees it: an image, row-major; what is no image is {1, 1, numbers}.
struct RowShape {
  int height = 1, width = 1, channels = 0;

  int size() const { return height * width * channels; }
};

enum class LayerKind {
  kLinear,       // y = x W + b
  kConvolution,  // math/convolution.h
  kLayerNorm,    // math/layer_norm.h, gain and bias being parameters
  kMaxPool,      // math/max_pool.h
  kActivation,   // an activation whose input others read, too
  kAdd,          // the input and the output of an earlier layer
};

struct Layer {
  LayerKind kind = LayerKind::kLinear;
  RowShape in, out;
  bool is_activated = false;  // the chain's activation follows, in place
  // Parameters: W [in, out] and b of kLinear; W [patch, filters] and b of kConvolution; gain and
  // bias, as W [1, size] and b, of kLayerNorm. `out` is 0 where there are none.
  LinearSlice slice = {};
  ConvolutionShape convolution = {};  // kConvolution
  PoolShape pool = {};                // kMaxPool
  std::size_t from = 0;               // kAdd: the layer whose output it adds

  bool has_parameters() const { return slice.out > 0; }
  // Outputs whose health is looked at: those of a layer that ends in an activation. Filters, where
  // they are images.
  bool has_units() const { return is_activated || kind == LayerKind::kActivation; }
};

// In PyTorch; Flax has 1e-6, which differs by less than float32 tells wherever numbers vary at all.
inline constexpr double kLayerNormEpsilon = 1e-5;

// y <- the layer's output for x [rows, in], rows <= kTileRows. added: kAdd's other input. scratch:
// [Chain::scratch_size()], whose contents mean nothing afterwards; so in the functions below.
template <class Real>
void layer_forward(const Layer& layer, Activation activation, const Real* params, const Real* x,
                   const Real* added, int rows, Real* y, Real* scratch);

// From delta [rows, out], the derivative for y, which becomes that before the activation: adds the
// parameters' derivatives to grads, and writes that for x to below, unless it is null. transposed:
// as layer_transpose() left the weights.
template <class Real>
void layer_backward(const Layer& layer, Activation activation, const Real* params,
                    const Real* transposed, const Real* x, const Real* y, int rows, Real* delta,
                    Real* grads, Real* below, Real* scratch);

// The parameters' derivatives alone, added to grads: from x and from what layer_backward() left of
// delta. Of a layer that has parameters.
template <class Real>
void layer_parameter_gradient(const Layer& layer, const Real* params, const Real* x,
                              const Real* delta, int rows, Real* grads, Real* scratch);

// Weights as layer_backward() reads them, to the same place of `transposed` [P].
template <class Real>
void layer_transpose(const Layer& layer, const Real* params, Real* transposed);

// Numbers of scratch that a layer may write to.
std::size_t layer_scratch(const Layer& layer);

}  // namespace broadloom
