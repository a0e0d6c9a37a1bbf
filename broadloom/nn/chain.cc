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
    : activation_(activation) {
  add(in, plan, layout);
}

Chain::Chain(int size, const std::vector<GroupPlan>& groups, const std::vector<LayerPlan>& plan,
             Activation activation, ParameterLayout& layout)
    : activation_(activation) {
  int width = 0;
  for (const GroupPlan& group : groups) {
    push({.kind = LayerKind::kPart,
          .in = {1, 1, size},
          .out = group.shape,
          .first = group.first,
          .divisor = group.divisor});
    width += add(group.shape, group.layers, layout).size();
    joined_.push_back(layers_.size() - 1);
  }
  push({.kind = LayerKind::kJoin, .in = {1, 1, width}, .out = {1, 1, width}});
  add({1, 1, width}, plan, layout);
}

void Chain::push(const Layer& layer) {
  layers_.push_back(layer);
  added_by_.push_back(0);
  offsets_.push_back(workspace_size_);
  workspace_size_ +=
      static_cast<std::size_t>(kTileRows) * static_cast<std::size_t>(layer.out.size());
}

// Adds the layers of a plan, and returns the shape of the last one's outputs.
RowShape Chain::add(RowShape in, const std::vector<LayerPlan>& plan, ParameterLayout& layout) {
  const std::size_t before = layers_.size();
  for (const LayerPlan& one : plan) {
    Layer layer = sized(one, in);
    add_parameters(one, layer, layout);
    const std::size_t l = layers_.size();
    if (one.kind == LayerKind::kAdd) {
      layer.source += before;
      assert(layer.source + 1 < l && layers_[layer.source].out.size() == layer.out.size());
      added_by_[layer.source + 1] = l;
    }
    in = layer.out;
    push(layer);
  }
  return in;
}

template <class Real>
void Chain::take_part(const Layer& part, const Real* x, int rows, Real* y) const {
  const std::size_t stride = static_cast<std::size_t>(part.in.size());
  const std::size_t width = static_cast<std::size_t>(part.out.size());
  const Real divisor = static_cast<Real>(part.divisor);
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
    const Real* source = x + r * stride + part.first;
    for (std::size_t i = 0; i < width; ++i) y[r * width + i] = source[i] / divisor;
  }
}

template <class F>
void Chain::over_joined(F&& f) const {
  std::size_t place = 0;
  for (const std::size_t last : joined_) {
    const std::size_t width = static_cast<std::size_t>(layers_[last].out.size());
    f(offsets_[last], place, width);
    place += width;
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
  const Real* const input = x;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    Real* y = activations + offsets_[l];
    if (layer.kind == LayerKind::kPart) {
      take_part(layer, input, rows, y);
    } else if (layer.kind == LayerKind::kJoin) {
      const std::size_t stride = static_cast<std::size_t>(layer.out.size());
      over_joined([&](std::size_t offset, std::size_t place, std::size_t width) {
        for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
          std::copy_n(activations + offset + r * width, width, y + r * stride + place);
        }
      });
    } else {
      const Real* added = activations + offsets_[layer.source];
      layer_forward(layer, activation_, params, x, added, rows, y, scratch);
    }
    x = y;
  }
  return x;
}

template <class Real>
void Chain::backward(const Real* params, const Real* transposed, const Real* x, int rows,
                     const Real* activations, Real* deltas, Real* grads, Real* scratch,
                     Real* below_chain) const {
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Layer& layer = layers_[l];
    if (layer.kind == LayerKind::kPart) continue;
    if (layer.kind == LayerKind::kJoin) {
      const Real* delta = deltas + offsets_[l];
      const std::size_t stride = static_cast<std::size_t>(layer.out.size());
      over_joined([&](std::size_t offset, std::size_t place, std::size_t width) {
        for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
          std::copy_n(delta + r * stride + place, width, deltas + offset + r * width);
        }
      });
      continue;
    }
    Real* below = l == 0 ? below_chain : begins(l) ? nullptr : deltas + offsets_[l - 1];
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
void Chain::refresh_transposed(const Real* params, Real* transposed, bool ends_below) const {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (!begins(l) || (l == 0 && !ends_below)) layer_transpose(layers_[l], params, transposed);
  }
}

#define BROADLOOM_INSTANTIATE(Real)                                                             \
  template const Real* Chain::forward(const Real*, const Real*, int, Real*, Real*) const;       \
  template void Chain::backward(const Real*, const Real*, const Real*, int, const Real*, Real*, \
                                Real*, Real*, Real*) const;                                     \
  template void Chain::refresh_transposed(const Real*, Real*, bool) const;
BROADLOOM_INSTANTIATE(float)
BROADLOOM_INSTANTIATE(double)
#undef BROADLOOM_INSTANTIATE

}  // namespace broadloom
