// A chain of layers over row tiles, with the backward pass written out.
//
// The per-row inputs and output deltas of every layer stay in the workspace after backward(): they
// are what the instruments build per-sample gradients from.
#pragma once

#include <cstddef>
#include <vector>

#include "broadloom/nn/layer.h"

namespace broadloom {

// What a layer is to be, before it has sizes and a place for its parameters.
struct LayerPlan {
  LayerKind kind = LayerKind::kLinear;
  bool is_activated = false;
  int width = 0;                            // outputs of kLinear, filters of kConvolution
  int kernel = 1, stride = 1, padding = 0;  // kConvolution, kMaxPool
  bool over_all = false;                    // kLayerNorm: over the whole image, not each pixel
  std::size_t from = 0;                     // kAdd
};

class Chain {
 public:
  Chain() = default;
  // No layers: an empty chain, its input is its output. Every window must fit (encoder.h checks).
  Chain(RowShape in, const std::vector<LayerPlan>& plan, Activation activation,
        ParameterLayout& layout);

  bool empty() const { return layers_.empty(); }
  const std::vector<Layer>& layers() const { return layers_; }
  // Numbers of a tile's activations (and as many of its deltas).
  std::size_t workspace_size() const { return workspace_size_; }
  // Where layer l's output [kTileRows, out_l] starts in the workspace.
  std::size_t output_offset(std::size_t l) const { return offsets_[l]; }
  // Numbers of scratch that a tile needs.
  std::size_t scratch_size() const;

  // activations <- every layer's output for x [rows, in]; rows <= kTileRows. Returns the last
  // one's, or x when empty.
  template <class Real>
  const Real* forward(const Real* params, const Real* x, int rows, Real* activations,
                      Real* scratch) const;
  // What forward() returned.
  template <class Real>
  const Real* output(const Real* x, const Real* activations) const {
    return empty() ? x : activations + offsets_.back();
  }

  // Where the caller of backward() puts the loss derivative with respect to the output [rows, out];
  // null when empty.
  template <class Real>
  Real* output_delta(Real* deltas) const {
    return empty() ? nullptr : deltas + offsets_.back();
  }
  // Adds parameter derivatives to grads [P], and leaves every layer's delta before its activation
  // in deltas. transposed: the weights as refresh_transposed() left them.
  template <class Real>
  void backward(const Real* params, const Real* transposed, const Real* x, int rows,
                const Real* activations, Real* deltas, Real* grads, Real* scratch) const;

  // Copies the weights that backward() needs turned to the same place of `transposed` [P]: all but
  // the first layer's.
  template <class Real>
  void refresh_transposed(const Real* params, Real* transposed) const;

 private:
  std::vector<Layer> layers_;
  std::vector<std::size_t> offsets_;
  // Per layer, the kAdd that adds what the layer before it gave, or 0 where there is none.
  std::vector<std::size_t> added_by_;
  std::size_t workspace_size_ = 0;
  Activation activation_ = Activation::kTanh;
};

}  // namespace broadloom
