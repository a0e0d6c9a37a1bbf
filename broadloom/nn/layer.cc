#include "broadloom/nn/layer.h"

#include <algorithm>

#include "broadloom/math/layer_norm.h"
#include "broadloom/math/linear.h"

namespace broadloom {
namespace {

// Calls f(offset of an image's input, offset of its output) for every row.
template <class F>
void over_images(const Layer& layer, int rows, F&& f) {
  const std::size_t in = static_cast<std::size_t>(layer.in.size());
  const std::size_t out = static_cast<std::size_t>(layer.out.size());
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) f(r * in, r * out);
}

// Rows that are normalised independently, each of layer.slice.out numbers.
std::size_t norm_rows(const Layer& layer, int rows) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(layer.in.size()) /
         static_cast<std::size_t>(layer.slice.out);
}

}  // namespace

template <class Real>
void layer_forward(const Layer& layer, Activation activation, const Real* params, const Real* x,
                   const Real* added, int rows, Real* y, Real* scratch) {
  const std::size_t count = static_cast<std::size_t>(rows) * layer.out.size();
  const LinearSlice& slice = layer.slice;
  switch (layer.kind) {
    case LayerKind::kLinear:
      linear_forward(x, params + slice.weight, params + slice.bias, y, rows, slice.in, slice.out);
      break;
    case LayerKind::kConvolution:
      over_images(layer, rows, [&](std::size_t in, std::size_t out) {
        convolve(layer.convolution, x + in, params + slice.weight, params + slice.bias, y + out,
                 scratch);
      });
      break;
    case LayerKind::kLayerNorm:
      layer_norm(x, params + slice.weight, params + slice.bias,
                 static_cast<Real>(kLayerNormEpsilon), y, norm_rows(layer, rows),
                 static_cast<std::size_t>(slice.out));
      break;
    case LayerKind::kMaxPool:
      over_images(layer, rows,
                  [&](std::size_t in, std::size_t out) { max_pool(layer.pool, x + in, y + out); });
      break;
    case LayerKind::kActivation:
      std::copy_n(x, count, y);
      activate(activation, y, count);
      break;
    case LayerKind::kAdd:
      std::copy_n(x, count, y);
      add_into(y, added, count);
      break;
    case LayerKind::kPart:
    case LayerKind::kJoin:
      break;  // the chain's own
  }
  if (layer.is_activated) activate(activation, y, count);
}

template <class Real>
void layer_backward(const Layer& layer, Activation activation, const Real* params,
                    const Real* transposed, const Real* x, const Real* y, int rows, Real* delta,
                    Real* grads, Real* below, Real* scratch) {
  const std::size_t count = static_cast<std::size_t>(rows) * layer.out.size();
  const LinearSlice& slice = layer.slice;
  if (layer.is_activated) activate_backward(activation, y, delta, count);
  switch (layer.kind) {
    case LayerKind::kLinear:
      linear_backward_weights(x, delta, grads + slice.weight, grads + slice.bias, rows, slice.in,
                              slice.out);
      if (below != nullptr) {
        linear_forward(delta, transposed + slice.weight, static_cast<const Real*>(nullptr), below,
                       rows, slice.out, slice.in);
      }
      break;
    case LayerKind::kConvolution:
      over_images(layer, rows, [&](std::size_t in, std::size_t out) {
        convolve_backward_weights(layer.convolution, x + in, delta + out, grads + slice.weight,
                                  grads + slice.bias, scratch);
        if (below == nullptr) return;
        convolve_backward_input(layer.convolution, delta + out, transposed + slice.weight,
                                below + in, scratch);
      });
      break;
    case LayerKind::kLayerNorm:
      layer_norm_backward(x, params + slice.weight, static_cast<Real>(kLayerNormEpsilon), delta,
                          below, grads + slice.weight, grads + slice.bias, norm_rows(layer, rows),
                          static_cast<std::size_t>(slice.out));
      break;
    case LayerKind::kMaxPool:
      if (below == nullptr) break;
      over_images(layer, rows, [&](std::size_t in, std::size_t out) {
        max_pool_backward(layer.pool, x + in, delta + out, below + in);
      });
      break;
    case LayerKind::kActivation:
      if (below == nullptr) break;
      std::copy_n(delta, count, below);
      activate_backward(activation, y, below, count);
      break;
    case LayerKind::kAdd:
      if (below != nullptr) std::copy_n(delta, count, below);
      break;
    case LayerKind::kPart:
    case LayerKind::kJoin:
      break;
  }
}

template <class Real>
void layer_parameter_gradient(const Layer& layer, const Real* params, const Real* x,
                              const Real* delta, int rows, Real* grads, Real* scratch) {
  const LinearSlice& slice = layer.slice;
  if (layer.kind == LayerKind::kLinear) {
    linear_backward_weights(x, delta, grads + slice.weight, grads + slice.bias, rows, slice.in,
                            slice.out);
  } else if (layer.kind == LayerKind::kConvolution) {
    over_images(layer, rows, [&](std::size_t in, std::size_t out) {
      convolve_backward_weights(layer.convolution, x + in, delta + out, grads + slice.weight,
                                grads + slice.bias, scratch);
    });
  } else {
    layer_norm_backward(x, params + slice.weight, static_cast<Real>(kLayerNormEpsilon), delta,
                        static_cast<Real*>(nullptr), grads + slice.weight, grads + slice.bias,
                        norm_rows(layer, rows), static_cast<std::size_t>(slice.out));
  }
}

template <class Real>
void layer_transpose(const Layer& layer, const Real* params, Real* transposed) {
  const LinearSlice& slice = layer.slice;
  const Real* source = params + slice.weight;
  Real* target = transposed + slice.weight;
  if (layer.kind == LayerKind::kConvolution) turn_weights(layer.convolution, source, target);
  if (layer.kind != LayerKind::kLinear) return;
  transpose(source, target, slice.in, slice.out);
}

std::size_t layer_scratch(const Layer& layer) {
  return layer.kind == LayerKind::kConvolution ? layer.convolution.scratch_size() : 0;
}

#define BROADLOOM_INSTANTIATE(Real)                                                                \
  template void layer_forward(const Layer&, Activation, const Real*, const Real*, const Real*,     \
                              int, Real*, Real*);                                                  \
  template void layer_backward(const Layer&, Activation, const Real*, const Real*, const Real*,    \
                               const Real*, int, Real*, Real*, Real*, Real*);                      \
  template void layer_parameter_gradient(const Layer&, const Real*, const Real*, const Real*, int, \
                                         Real*, Real*);                                            \
  template void layer_transpose(const Layer&, const Real*, Real*);
BROADLOOM_INSTANTIATE(float)
BROADLOOM_INSTANTIATE(double)
#undef BROADLOOM_INSTANTIATE

}  // namespace broadloom
