#include "broadloom/nn/mlp.h"

#include "broadloom/math/linear.h"

namespace broadloom {

Mlp::Mlp(int in, const std::vector<int>& sizes, Activation activation, bool activate_last,
         ParameterLayout& layout)
    : activation_(activation), activate_last_(activate_last) {
  for (const int out : sizes) {
    layers_.push_back(layout.add_linear(in, out));
    offsets_.push_back(workspace_size_);
    workspace_size_ += static_cast<std::size_t>(kTileRows) * static_cast<std::size_t>(out);
    in = out;
  }
}

template <class Real>
void Mlp::forward(const Real* params, const Real* x, int rows, Real* activations) const {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const LinearSlice& layer = layers_[l];
    Real* y = activations + offsets_[l];
    linear_forward(x, params + layer.weight, params + layer.bias, y, rows, layer.in, layer.out);
    if (activated(l)) activate(activation_, y, static_cast<std::size_t>(rows) * layer.out);
    x = y;
  }
}

template <class Real>
void Mlp::backward(const Real* transposed, const Real* x, int rows, const Real* activations,
                   Real* deltas, Real* grads, Real* dx) const {
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const LinearSlice& layer = layers_[l];
    Real* delta = deltas + offsets_[l];
    if (activated(l)) {
      activate_backward(activation_, activations + offsets_[l], delta,
                        static_cast<std::size_t>(rows) * layer.out);
    }
    const Real* input = l == 0 ? x : activations + offsets_[l - 1];
    linear_backward_weights(input, delta, grads + layer.weight, grads + layer.bias, rows, layer.in,
                            layer.out);
    Real* below = l == 0 ? dx : deltas + offsets_[l - 1];
    if (below != nullptr) {
      linear_forward(delta, transposed + layer.weight, static_cast<const Real*>(nullptr), below,
                     rows, layer.out, layer.in);
    }
  }
}

template <class Real>
void Mlp::refresh_transposed(const Real* params, Real* transposed) const {
  for (const LinearSlice& layer : layers_) {
    transpose(params + layer.weight, transposed + layer.weight, layer.in, layer.out);
  }
}

template void Mlp::forward(const float*, const float*, int, float*) const;
template void Mlp::forward(const double*, const double*, int, double*) const;
template void Mlp::backward(const float*, const float*, int, const float*, float*, float*,
                            float*) const;
template void Mlp::backward(const double*, const double*, int, const double*, double*, double*,
                            double*) const;
template void Mlp::refresh_transposed(const float*, float*) const;
template void Mlp::refresh_transposed(const double*, double*) const;

}  // namespace broadloom
