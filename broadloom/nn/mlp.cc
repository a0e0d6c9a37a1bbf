#include "broadloom/nn/mlp.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "broadloom/math/linear.h"

namespace broadloom {
namespace {

// One layer's products, in the layer's precision. Double precision knows no bfloat16.
template <class Real>
void forward_product(const LinearSlice& layer, const Real* params, const Real* x, Real* y, int rows,
                     Bf16Tile bf16) {
  const Real* bias = params + layer.bias;
  if constexpr (std::is_same_v<Real, float>) {
    if (layer.bf16) {
      linear_forward_bf16(x, bf16.weights + layer.packed, bias, y, rows, layer.in, layer.out,
                          bf16.scratch);
      return;
    }
  }
  linear_forward(x, params + layer.weight, bias, y, rows, layer.in, layer.out);
}

template <class Real>
void weights_product(const LinearSlice& layer, const Real* x, const Real* delta, Real* grads,
                     int rows, Bf16Tile bf16) {
  Real* weight = grads + layer.weight;
  Real* bias = grads + layer.bias;
  if constexpr (std::is_same_v<Real, float>) {
    if (layer.bf16) {
      linear_backward_weights_bf16(x, delta, weight, bias, rows, layer.in, layer.out, bf16.scratch);
      return;
    }
  }
  linear_backward_weights(x, delta, weight, bias, rows, layer.in, layer.out);
}

template <class Real>
void input_product(const LinearSlice& layer, const Real* transposed, const Real* delta, Real* below,
                   int rows, Bf16Tile bf16) {
  if constexpr (std::is_same_v<Real, float>) {
    if (layer.bf16) {
      linear_forward_bf16(delta, bf16.weights + layer.packed_transposed, nullptr, below, rows,
                          layer.out, layer.in, bf16.scratch);
      return;
    }
  }
  linear_forward(delta, transposed + layer.weight, static_cast<const Real*>(nullptr), below, rows,
                 layer.out, layer.in);
}

}  // namespace

Mlp::Mlp(int in, const std::vector<int>& sizes, Activation activation, ParameterLayout& layout,
         Precision precision)
    : activation_(activation) {
  for (const int out : sizes) {
    LinearSlice layer = layout.add_linear(in, out);
    if (precision == Precision::kBf16 && takes_bf16(layers_.size(), in, out)) {
      layout.add_bf16(layer);
    }
    layers_.push_back(layer);
    offsets_.push_back(workspace_size_);
    workspace_size_ += static_cast<std::size_t>(kTileRows) * static_cast<std::size_t>(out);
    in = out;
  }
}

std::size_t Mlp::bf16_scratch() const {
  std::size_t pairs = 0;
  for (const LinearSlice& layer : layers_) {
    if (layer.bf16) pairs = std::max(pairs, bf16_scratch_size(kTileRows, layer.in, layer.out));
  }
  return pairs;
}

template <class Real>
const Real* Mlp::forward(const Real* params, const Real* x, int rows, Real* activations,
                         Bf16Tile bf16) const {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const LinearSlice& layer = layers_[l];
    Real* y = activations + offsets_[l];
    forward_product(layer, params, x, y, rows, bf16);
    activate(activation_, y, static_cast<std::size_t>(rows) * layer.out);
    x = y;
  }
  return x;
}

template <class Real>
void Mlp::backward(const Real* transposed, const Real* x, int rows, const Real* activations,
                   Real* deltas, Real* grads, Bf16Tile bf16) const {
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const LinearSlice& layer = layers_[l];
    Real* delta = deltas + offsets_[l];
    activate_backward(activation_, activations + offsets_[l], delta,
                      static_cast<std::size_t>(rows) * layer.out);
    const Real* input = l == 0 ? x : activations + offsets_[l - 1];
    weights_product(layer, input, delta, grads, rows, bf16);
    if (l == 0) return;
    input_product(layer, transposed, delta, deltas + offsets_[l - 1], rows, bf16);
  }
}

template <class Real>
void Mlp::refresh_transposed(const Real* params, Real* transposed) const {
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    const LinearSlice& layer = layers_[l];
    if (std::is_same_v<Real, float> && layer.bf16) continue;
    transpose(params + layer.weight, transposed + layer.weight, layer.in, layer.out);
  }
}

void Mlp::refresh_bf16(const float* params, Bf16Pair* copies, int part, int parts) const {
  for (const LinearSlice& layer : layers_) {
    if (!layer.bf16) continue;
    const float* w = params + layer.weight;
    for (int p = bf16_panels(layer.out) * part / parts;
         p < bf16_panels(layer.out) * (part + 1) / parts; ++p) {
      bf16_pack(w, layer.in, layer.out, p, copies + layer.packed);
    }
    for (int p = bf16_panels(layer.in) * part / parts;
         p < bf16_panels(layer.in) * (part + 1) / parts; ++p) {
      bf16_pack_transposed(w, layer.in, layer.out, p, copies + layer.packed_transposed);
    }
  }
}

#define BROADLOOM_INSTANTIATE(Real)                                                               \
  template const Real* Mlp::forward(const Real*, const Real*, int, Real*, Bf16Tile) const;        \
  template void Mlp::backward(const Real*, const Real*, int, const Real*, Real*, Real*, Bf16Tile) \
      const;                                                                                      \
  template void Mlp::refresh_transposed(const Real*, Real*) const;
BROADLOOM_INSTANTIATE(float)
BROADLOOM_INSTANTIATE(double)
#undef BROADLOOM_INSTANTIATE

}  // namespace broadloom
