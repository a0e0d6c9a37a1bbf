#include "broadloom/nn/chain.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace broadloom {
namespace {

// A layer with sizes, but without parameters yet.
Layer sized(const LayerPlan& plan, RowShape in) {
  Layer layer{.kind = plan.kind, .in = in, .out = in, .is_activated = plan.is_activated};
  if (plan.kind == LayerKind::kLinear) layer.out = {1, 1, plan.width};
  if (plan.kind == LayerKind::kAdd) layer.source = plan.source;
  if (plan.kind == LayerKind::kConvolution) {
    layer.convolution = {in.height,   in.width,    in.channels, plan.width,
                         plan.kernel, plan.stride, plan.padding};
    layer.out = {layer.convolution.out_height(), layer.convolution.out_width(), plan.width};
  }
  if (plan.kind == LayerKind::kMaxPool) {
    layer.pool = {in.height, in.width, in.channels, plan.kernel, plan.stride, plan.padding};
    layer.out = {layer.pool.out_height(), layer.pool.out_width(), in.channels};
  }
  return layer;
}

void add_parameters(const LayerPlan& plan, Layer& layer, ParameterLayout& layout) {
  if (plan.kind == LayerKind::kLinear) {
    layer.slice = layout.add_linear(layer.in.size(), plan.width);
  } else if (plan.kind == LayerKind::kConvolution) {
    layer.slice = layout.add_linear(layer.convolution.patch(), plan.width);
  } else if (plan.kind == LayerKind::kLayerNorm) {
    layer.slice = layout.add_linear(1, plan.over_all ? layer.in.size() : layer.in.channels);
  }
}

}  // namespace

Chain::Chain(RowShape in, const std::vector<LayerPlan>& plan, Activation activation,
             ParameterLayout& layout)
    : added_by_(plan.size()), activation_(activation) {
  for (const LayerPlan& one : plan) {
    Layer layer = sized(one, in);
    add_parameters(one, layer, layout);
    const std::size_t l = layers_.size();
    if (one.kind == LayerKind::kAdd) {
      assert(layer.source + 1 < l && layers_[layer.source].out.size() == layer.out.size());
      added_by_[layer.source + 1] = l;
    }
    in = layer.out;
    layers_.push_back(layer);
    offsets_.push_back(workspace_size_);
    workspace_size_ += static_cast<std::size_t>(kTileRows) * static_cast<std::size_t>(in.size());
  }
}

std::size_t Chain::scratch_size() const {
  std::size_t numbers = 0;
  for (const Layer& layer : layers_) numbers = std::max(numbers, layer_scratch(layer));
  return numbers;
}

template <class Real>
const Real* Chain::forward(const Real* params, const Real* x, int rows, Real* activations,
                           Real* scratch) const {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Real* y = activations + offsets_[l];
    const Real* added = activations + offsets_[layers_[l].source];
    layer_forward(layers_[l], activation_, params, x, added, rows, y, scratch);
    x = y;
  }
  return x;
}

template <class Real>
void Chain::backward(const Real* params, const Real* transposed, const Real* x, int rows,
                     const Real* activations, Real* deltas, Real* grads, Real* scratch) const {
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Layer& layer = layers_[l];
    Real* below = l == 0 ? nullptr : deltas + offsets_[l - 1];
    layer_backward(layer, activation_, params, transposed,
                   l == 0 ? x : activations + offsets_[l - 1], activations + offsets_[l], rows,
                   deltas + offsets_[l], grads, below, scratch);
    if (added_by_[l] > 0) {
      add_into(below, deltas + offsets_[added_by_[l]],
               static_cast<std::size_t>(rows) * layer.in.size());
    }
  }
}

template <class Real>
void Chain::refresh_transposed(const Real* params, Real* transposed) const {
  for (std::size_t l = 1; l < layers_.size(); ++l) layer_transpose(layers_[l], params, transposed);
}

#define BROADLOOM_INSTANTIATE(Real)                                                             \
  template const Real* Chain::forward(const Real*, const Real*, int, Real*, Real*) const;       \
  template void Chain::backward(const Real*, const Real*, const Real*, int, const Real*, Real*, \
                                Real*, Real*) const;                                            \
  template void Chain::refresh_transposed(const Real*, Real*) const;
BROADLOOM_INSTANTIATE(float)
BROADLOOM_INSTANTIATE(double)
#undef BROADLOOM_INSTANTIATE

}  // namespace broadloom
