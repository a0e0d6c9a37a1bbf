// A chain of linear layers and activations over row tiles, with its backward pass written out.
//
// The per-row inputs and output deltas of every layer stay in the workspace after backward(): they
// are what the instruments build per-sample gradients from.
#pragma once

#include <cstddef>
#include <vector>

#include "broadloom/math/elementwise.h"
#include "broadloom/nn/parameters.h"

namespace broadloom {

// Rows that pass through all layers together: small enough that a tile's activations stay in cache.
// Part of the bits contract: sums over rows are grouped by tile.
inline constexpr int kTileRows = 64;

class Mlp {
 public:
  Mlp() = default;
  // Layers in -> sizes[0] -> ... -> sizes.back(); the last one is activated only if activate_last.
  Mlp(int in, const std::vector<int>& sizes, Activation activation, bool activate_last,
      ParameterLayout& layout);

  bool empty() const { return layers_.empty(); }
  int in() const { return layers_.front().in; }
  int out() const { return layers_.back().out; }
  const std::vector<LinearSlice>& layers() const { return layers_; }
  // Numbers of a tile's activations (and as many of its deltas).
  std::size_t workspace_size() const { return workspace_size_; }
  // Where layer l's output [kTileRows, out_l] starts in the workspace.
  std::size_t output_offset(std::size_t l) const { return offsets_[l]; }
  std::size_t last_offset() const { return offsets_.back(); }

  // activations <- every layer's output for x [rows, in]; rows <= kTileRows.
  template <class Real>
  void forward(const Real* params, const Real* x, int rows, Real* activations) const;

  // From the loss derivative with respect to the chain's output, which the caller has put at
  // deltas + last_offset() [rows, out]: adds parameter derivatives to grads [P], and writes the
  // derivative with respect to x to dx [rows, in] unless dx is null.
  // transposed: the weights as refresh_transposed() left them.
  template <class Real>
  void backward(const Real* transposed, const Real* x, int rows, const Real* activations,
                Real* deltas, Real* grads, Real* dx) const;

  // Copies every W [in, out] as W^T [out, in] to the same place of `transposed` [P].
  template <class Real>
  void refresh_transposed(const Real* params, Real* transposed) const;

 private:
  bool activated(std::size_t l) const { return activate_last_ || l + 1 < layers_.size(); }

  std::vector<LinearSlice> layers_;
  std::vector<std::size_t> offsets_;
  std::size_t workspace_size_ = 0;
  Activation activation_ = Activation::kTanh;
  bool activate_last_ = false;
};

}  // namespace broadloom
