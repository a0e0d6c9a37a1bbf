#include "broadloom/nn/cell.h"

#include <cassert>

#include "broadloom/math/elementwise.h"
#include "broadloom/math/gated_units.h"
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

Cell::Cell(CellKind kind, int in, int width, std::size_t state, ParameterLayout& layout)
    : kind_(kind), state_(state) {
  if (kind == CellKind::kNone) return;
  assert(kind != CellKind::kMinGru || in == width);
  width_ = width;
  const int sums = static_cast<int>(gates()) * width;
  slice_ = layout.add_linear(in, sums);
  if (kind != CellKind::kMinGru) state_slice_ = layout.add_linear(width, sums);
}

template <class Real>
const Real* Cell::forward(const Real* params, const Real* x, int rows,
                          const TileStates<Real>& states, Real* activations) const {
  if (empty()) return x;
  linear_forward(x, params + slice_.weight, params + slice_.bias, activations, rows, slice_.in,
                 slice_.out);
  if (multiplies_state()) {
    forward_steps(params, rows, states, activations);
  } else {
    min_gru(chain_rows(*this, x, rows, states, activations), activations + plane(3),
            activations + plane(4));
  }
  return output(x, activations);
}

// A product with the last h for each step, whose rows are neighbours.
template <class Real>
void Cell::forward_steps(const Real* params, int rows, const TileStates<Real>& states,
                         Real* activations) const {
  const std::size_t size = static_cast<std::size_t>(width());
  Real* const after = activations + plane(gates());
  Real* const before = after + plane(state_planes());
  Real* const sums = before + plane(state_planes());
  for (int first = 0; first < rows; first += states.sequences) {
    for (int s = 0; s < states.sequences; ++s) {
      const std::size_t row =
          (static_cast<std::size_t>(first) + static_cast<std::size_t>(s)) * size;
      for (std::size_t k = 0; k < state_planes(); ++k) {
        Real* const target = before + plane(k) + row;
        if (states.begins[static_cast<std::size_t>(first) + static_cast<std::size_t>(s)] != 0) {
          std::fill_n(target, size, Real(0));
        } else if (first == 0) {
          std::copy_n(&states.before[static_cast<std::size_t>(s * states.size) + state_ + k * size],
                      size, target);
        } else {
          std::copy_n(after + plane(k) + row - static_cast<std::size_t>(states.sequences) * size,
                      size, target);
        }
      }
    }
    const std::size_t row = static_cast<std::size_t>(first) * size;
    linear_forward(before + row, params + state_slice_.weight, params + state_slice_.bias,
                   sums + gates() * row, states.sequences, state_slice_.in, state_slice_.out);
    Real* const values = activations + gates() * row;
    const GatedRows<Real> step{states.sequences, width(), values, sums + gates() * row,
                               before + plane(state_planes() - 1) + row};
    if (kind_ == CellKind::kGru) {
      gru(step, values, after + row);
    } else {
      lstm(step, values, after + plane(1) + row, after + row);
    }
  }
}

template <class Real>
void Cell::backward(const Real* transposed, const Real* x, int rows, TileStates<Real>& states,
                    const Real* activations, Real* deltas, Real* grads, Real* below) const {
  if (empty()) return;
  Real* const d_sums = deltas + plane(1);
  if (multiplies_state()) {
    backward_steps(transposed, rows, states, activations, deltas);
    linear_backward_weights(activations + plane(gates() + state_planes()),
                            kind_ == CellKind::kGru ? d_sums + plane(gates()) : d_sums,
                            grads + state_slice_.weight, grads + state_slice_.bias, rows,
                            state_slice_.in, state_slice_.out);
  } else {
    min_gru_backward(chain_rows(*this, x, rows, states, activations), activations + plane(3),
                     deltas, d_sums, states.delta.data() + state_);
  }
  linear_backward_weights(x, d_sums, grads + slice_.weight, grads + slice_.bias, rows, slice_.in,
                          slice_.out);
  if (below == nullptr) return;
  linear_forward(d_sums, transposed + slice_.weight, static_cast<const Real*>(nullptr), below, rows,
                 slice_.out, slice_.in);
  if (!multiplies_state()) add_into(below, deltas, static_cast<std::size_t>(rows) * state_size());
}

template <class Real>
void Cell::backward_steps(const Real* transposed, int rows, TileStates<Real>& states,
                          const Real* activations, Real* deltas) const {
  const std::size_t size = static_cast<std::size_t>(width());
  const Real* const after = activations + plane(gates());
  const Real* const before = after + plane(state_planes());
  const Real* const sums = before + plane(state_planes());
  Real* const d_sums = deltas + plane(1);
  Real* const d_state_sums = kind_ == CellKind::kGru ? d_sums + plane(gates()) : d_sums;
  Real* const d_last = deltas + plane(1 + 2 * gates());
  Real* const d_cell = d_last + plane(1);
  const auto carried = [&](int s) {
    return states.delta.data() + static_cast<std::size_t>(s * states.size) + state_;
  };
  for (int first = rows - states.sequences; first >= 0; first -= states.sequences) {
    const std::size_t row = static_cast<std::size_t>(first) * size;
    Real* const delta = deltas + row;  // of the outputs, and with the later steps' share of h
    for (int s = 0; s < states.sequences; ++s) {
      add_into(delta + static_cast<std::size_t>(s) * size, carried(s), size);
      if (kind_ == CellKind::kGru) continue;
      std::copy_n(carried(s) + size, size, d_cell + static_cast<std::size_t>(s) * size);
    }
    const GatedRows<Real> step{states.sequences, width(), activations + gates() * row,
                               sums + gates() * row, before + plane(state_planes() - 1) + row};
    if (kind_ == CellKind::kGru) {
      gru_backward(step, delta, d_sums + gates() * row, d_state_sums + gates() * row);
    } else {
      lstm_backward(step, after + plane(1) + row, delta, d_cell, d_sums + gates() * row);
    }
    linear_forward(d_state_sums + gates() * row, transposed + state_slice_.weight,
                   static_cast<const Real*>(nullptr), d_last, states.sequences, state_slice_.out,
                   state_slice_.in);
    if (kind_ == CellKind::kGru) {
      add_into(d_last, delta, static_cast<std::size_t>(states.sequences) * size);
    }
    for (int s = 0; s < states.sequences; ++s) {
      if (states.begins[static_cast<std::size_t>(first) + static_cast<std::size_t>(s)] != 0) {
        std::fill_n(carried(s), state_size(), Real(0));
        continue;
      }
      std::copy_n(d_last + static_cast<std::size_t>(s) * size, size, carried(s));
      if (kind_ == CellKind::kGru) continue;
      std::copy_n(d_cell + static_cast<std::size_t>(s) * size, size, carried(s) + size);
    }
  }
}

template <class Real>
void Cell::refresh_transposed(const Real* params, Real* transposed) const {
  for (const LinearSlice& slice : {slice_, state_slice_}) {
    if (slice.out == 0) continue;
    transpose(params + slice.weight, transposed + slice.weight, slice.in, slice.out);
  }
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
