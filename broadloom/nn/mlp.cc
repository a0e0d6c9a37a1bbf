#include "broadloom/nn/mlp.h"

#include <cstdint>

#include "broadloom/math/linear.h"

namespace broadloom {

Mlp::Mlp(int in, const std::vector<int>& sizes, Activation activation, ParameterLayout& layout)
    : activation_(activation) {
  for (const int out : sizes) {
    layers_.push_back(layout.add_linear(in, out));
    offsets_.push_back(workspace_size_);
    workspace_size_ += static_cast<std::size_t>(kTileRows) * static_cast<std::size_t>(out);
    in = out;
  }
}

template <class Real>
const Real* Mlp::forward(const Real* params, const Real* x, int rows, Real* activations) const {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const LinearSlice& layer = layers_[l];
    Real* y = activations + offsets_[l];
    linear_forward(x, params + layer.weight, params + layer.bias, y, rows, layer.in, layer.out);
    activate(activation_, y, static_cast<std::size_t>(rows) * layer.out);
    x = y;
  }
  return x;
}

template <class Real>
void Mlp::backward(const Real* transposed, const Real* x, int rows, const Real* activations,
                   Real* deltas, Real* grads) const {
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const LinearSlice& layer = layers_[l];
    Real* delta = deltas + offsets_[l];
    activate_backward(activation_, activations + offsets_[l], delta,
                      static_cast<std::size_t>(rows) * layer.out);
    const Real* input = l == 0 ? x : activations + offsets_[l - 1];
    linear_backward_weights(input, delta, grads + layer.weight, grads + layer.bias, rows, layer.in,
                            layer.out);
    if (l == 0) return;
    linear_forward(delta, transposed + layer.weight, static_cast<const Real*>(nullptr),
                   deltas + offsets_[l - 1], rows, layer.out, layer.in);
  }
}

template <class Real>
void Mlp::refresh_transposed(const Real* params, Real* transposed, int part, int parts) const {
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    const LinearSlice& layer = layers_[l];
    transpose(params + layer.weight, transposed + layer.weight, layer.in, layer.out,
              static_cast<int>(std::int64_t{layer.out} * part / parts),
              static_cast<int>(std::int64_t{layer.out} * (part + 1) / parts));
  }
}

#define BROADLOOM_INSTANTIATE(Real)                                                            \
  template const Real* Mlp::forward(const Real*, const Real*, int, Real*) const;               \
  template void Mlp::backward(const Real*, const Real*, int, const Real*, Real*, Real*) const; \
  template void Mlp::refresh_transposed(const Real*, Real*, int, int) const;
BROADLOOM_INSTANTIATE(float)
BROADLOOM_INSTANTIATE(double)
#undef BROADLOOM_INSTANTIATE

}  // namespace broadloom
