#include "broadloom/nn/cell.h"

#include <cassert>

#include "broadloom/math/elementwise.h"
#include "broadloom/math/linear.h"
#include "broadloom/math/min_gru.h"

namespace broadloom {
namespace {

// The chain's arrays in a tile's activations: sums [rows, 3, width], then states.
template <class Real>
MinGruRows<Real> chain_rows(const Cell& cell, const Real* x, int rows,
                            const TileStates<Real>& states, const Real* activations) {
  assert(states.sequences > 0 && rows % states.sequences == 0);
  return {rows,
          states.sequences,
          cell.width(),
          x,
          activations,
          states.before.data() + cell.state_offset(),
          static_cast<std::size_t>(states.size),
          states.begins.data()};
}

}  // namespace

Cell::Cell(CellKind kind, int width, std::size_t state, ParameterLayout& layout)
    : kind_(kind), state_(state) {
  if (kind != CellKind::kNone) slice_ = layout.add_linear(width, 3 * width);
}

template <class Real>
const Real* Cell::forward(const Real* params, const Real* x, int rows,
                          const TileStates<Real>& states, Real* activations) const {
  if (empty()) return x;
  linear_forward(x, params + slice_.weight, params + slice_.bias, activations, rows, slice_.in,
                 slice_.out);
  Real* const after = activations + kTileRows * 3 * state_size();
  Real* const outputs = after + kTileRows * state_size();
  min_gru(chain_rows(*this, x, rows, states, activations), after, outputs);
  return outputs;
}

template <class Real>
void Cell::backward(const Real* transposed, const Real* x, int rows, TileStates<Real>& states,
                    const Real* activations, Real* deltas, Real* grads, Real* below) const {
  if (empty()) return;
  Real* const d_sums = deltas + kTileRows * state_size();
  min_gru_backward(chain_rows(*this, x, rows, states, activations), this->states(activations),
                   deltas, d_sums, states.delta.data() + state_);
  linear_backward_weights(x, d_sums, grads + slice_.weight, grads + slice_.bias, rows, slice_.in,
                          slice_.out);
  if (below == nullptr) return;
  linear_forward(d_sums, transposed + slice_.weight, static_cast<const Real*>(nullptr), below, rows,
                 slice_.out, slice_.in);
  add_into(below, deltas, static_cast<std::size_t>(rows) * state_size());
}

template <class Real>
void Cell::refresh_transposed(const Real* params, Real* transposed) const {
  if (empty()) return;
  transpose(params + slice_.weight, transposed + slice_.weight, slice_.in, slice_.out);
}

#define BROADLOOM_INSTANTIATE(Real)                                                           \
  template const Real* Cell::forward(const Real*, const Real*, int, const TileStates<Real>&,  \
                                     Real*) const;                                            \
  template void Cell::backward(const Real*, const Real*, int, TileStates<Real>&, const Real*, \
                               Real*, Real*, Real*) const;                                    \
  template void Cell::refresh_transposed(const Real*, Real*) const;
BROADLOOM_INSTANTIATE(float)
BROADLOOM_INSTANTIATE(double)
#undef BROADLOOM_INSTANTIATE

}  // namespace broadloom
