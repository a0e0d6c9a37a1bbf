// A chain of layers over row tiles, with a handwritten backward pass.
//
// backward() leaves every layer's per-row inputs and output deltas in the workspace. Instruments
// build per-sample gradients from them.
#pragma once

#include <cstddef>
#include <vector>

#include "broadloom/nn/layer.h"

namespace broadloom {

// Specification of a layer, before it has sizes and parameters.
struct LayerPlan {
  LayerKind kind = LayerKind::kLinear;
  bool is_activated = false;
  int width = 0;                            // outputs of kLinear, filters of kConvolution
  int kernel = 1, stride = 1, padding = 0;  // kConvolution, kMaxPool
  bool over_all = false;                    // kLayerNorm: over the whole image, not each pixel
  std::size_t source = 0;                   // kAdd
};

// One group of an input's numbers, and the layers that only it passes through.
struct GroupPlan {
  RowShape shape;
  std::size_t first = 0;  // of its numbers in the input
  float divisor = 1.0f;
  std::vector<LayerPlan> layers;  // empty: its numbers as they are
};

class Chain {
 public:
  Chain() = default;
  // An empty plan gives an empty chain, whose output is its input. Every window must fit (encoder.h
  // checks).
  Chain(RowShape in, const std::vector<LayerPlan>& plan, Activation activation,
        ParameterLayout& layout);
  // The groups of rows of `size` numbers, each through its own layers, side by side in their order,
  // and then the plan. Only for chains whose input needs no derivative.
  Chain(int size, const std::vector<GroupPlan>& groups, const std::vector<LayerPlan>& plan,
        Activation activation, ParameterLayout& layout);

  bool empty() const { return layers_.empty(); }
  const std::vector<Layer>& layers() const { return layers_; }
  // The last layer of each group; empty without groups.
  const std::vector<std::size_t>& joined() const { return joined_; }
  // Numbers in a tile's activations. The deltas need as many.
  std::size_t workspace_size() const { return workspace_size_; }
  // Offset in the workspace of layer l's output [kTileRows, out_l].
  std::size_t output_offset(std::size_t l) const { return offsets_[l]; }
  // Numbers of scratch that a tile needs.
  std::size_t scratch_size() const;

  // Writes every layer's output for x [rows, in] to activations; rows <= kTileRows. Returns the
  // last output, or x if the chain is empty.
  template <class Real>
  const Real* forward(const Real* params, const Real* x, int rows, Real* activations,
                      Real* scratch) const;
  // The pointer that forward() returned.
  template <class Real>
  const Real* output(const Real* x, const Real* activations) const {
    return empty() ? x : activations + offsets_.back();
  }

  // Buffer for the loss derivative of the output [rows, out], which the caller of backward() fills.
  // Null if the chain is empty.
  template <class Real>
  Real* output_delta(Real* deltas) const {
    return empty() ? nullptr : deltas + offsets_.back();
  }
  // Adds parameter derivatives to grads [P], and writes the derivative of x to below unless that is
  // null. Leaves each layer's delta, taken before its activation, in deltas. transposed: weights
  // written by refresh_transposed().
  template <class Real>
  void backward(const Real* params, const Real* transposed, const Real* x, int rows,
                const Real* activations, Real* deltas, Real* grads, Real* scratch,
                Real* below = nullptr) const;

  // Transposes the weights that backward() reads, to the same offsets in `transposed` [P]. The
  // first layer of a group needs none, because the backward pass ends there, nor does that of a
  // chain which ends_below.
  template <class Real>
  void refresh_transposed(const Real* params, Real* transposed, bool ends_below = true) const;

 private:
  RowShape add(RowShape in, const std::vector<LayerPlan>& plan, ParameterLayout& layout);
  void push(const Layer& layer);
  bool begins(std::size_t l) const { return l == 0 || layers_[l - 1].kind == LayerKind::kPart; }
  template <class Real>
  void take_part(const Layer& part, const Real* x, int rows, Real* y) const;
  // Calls f(outputs of a group's last layer, place in the joined row, width) for each group.
  template <class F>
  void over_joined(F&& f) const;

  std::vector<Layer> layers_;
  std::vector<std::size_t> joined_;
  std::vector<std::size_t> offsets_;
  // Per layer, the kAdd layer that adds the output of the layer before it; 0 if there is none.
  std::vector<std::size_t> added_by_;
  std::size_t workspace_size_ = 0;
  Activation activation_ = Activation::kTanh;
};

}  // namespace broadloom
