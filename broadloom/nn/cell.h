// A recurrent cell over row tiles, with a handwritten backward pass through time. The rows of a
// tile are steps of several sequences: row r is step r / sequences of sequence r % sequences.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/nn/layer.h"
#include "broadloom/nn/parameters.h"

namespace broadloom {

// The kinds are a closed set, each with a handwritten backward pass.
enum class CellKind {
  kNone,
  kMinGru,  // math/min_gru.h
  kGru,     // math/gated_units.h, as kLstm
  kLstm,
};

// Sequences of `steps` rows that pass through tiles together: as many as fit into one tile, or few
// that take several. A cell that multiplies its last state takes four at least, which halves the
// time of its products, and no more, which would leave threads idle. Part of the bits contract.
inline int sequences_per_tile(CellKind kind, int steps) {
  const bool multiplies_state = kind == CellKind::kGru || kind == CellKind::kLstm;
  return std::max(kTileRows / steps, multiplies_state ? 4 : 1);
}

// States of a tile's sequences. A state is a row of S numbers, of all cells of a network.
template <class Real>
struct TileStates {
  int size = 0;       // S
  int sequences = 0;  // set by the caller, and at most the tile's rows
  // [kTileRows] 1: the row begins an episode, so that the state before it is 0.
  AlignedVector<std::uint8_t> begins;
  AlignedVector<Real> before;  // [kTileRows, S] per sequence, before its first row
  // [kTileRows, S] Derivative of the states after the last rows; backward passes replace it by that
  // of the states before the first rows.
  AlignedVector<Real> delta;

  // Begins a tile of `count` sequences, each within an episode.
  void begin(int count) {
    sequences = count;
    std::fill(begins.begin(), begins.end(), std::uint8_t{0});
  }
};

class Cell {
 public:
  // Without a cell, the output is the input.
  Cell() = default;
  // in: numbers of an input, as many as units with kMinGru. state: offset of the cell's numbers in
  // a state.
  Cell(CellKind kind, int in, int width, std::size_t state, ParameterLayout& layout);

  bool empty() const { return kind_ == CellKind::kNone; }
  CellKind kind() const { return kind_; }
  int width() const { return width_; }  // units, which are the outputs; 0 if empty
  std::size_t state_offset() const { return state_; }
  // A state is h, or an LSTM's h and c.
  std::size_t state_size() const { return state_planes() * static_cast<std::size_t>(width()); }
  const LinearSlice& slice() const { return slice_; }  // W and b of all sums
  // U and d of the sums of the last h; empty without such a product.
  const LinearSlice& state_slice() const { return state_slice_; }
  // Numbers in a tile's activations and in its deltas.
  std::size_t workspace_size() const {
    return plane(multiplies_state() ? 2 * (gates() + state_planes()) : 5);
  }
  std::size_t delta_size() const {
    return plane(multiplies_state() ? 2 * gates() + 1 + state_planes() : 4);
  }

  // Writes sums, states and outputs for x [rows, in] to activations, rows <= kTileRows. Returns the
  // outputs [rows, width], or x if the cell is empty.
  template <class Real>
  const Real* forward(const Real* params, const Real* x, int rows, const TileStates<Real>& states,
                      Real* activations) const;
  // The pointer that forward() returned.
  template <class Real>
  const Real* output(const Real* x, const Real* activations) const {
    return empty() ? x : activations + plane(multiplies_state() ? gates() : 4);
  }
  // Copies the state after row `row` to state + state_offset().
  template <class Real>
  void copy_state(const Real* activations, int row, Real* state) const {
    const std::size_t size = static_cast<std::size_t>(width());
    for (std::size_t k = 0; k < state_planes(); ++k) {
      std::copy_n(activations + plane(gates() + k) + static_cast<std::size_t>(row) * size, size,
                  state + state_ + k * size);
    }
  }

  // Buffer for the derivative of the outputs [rows, width], which the caller of backward() fills;
  // `below` if the cell is empty.
  template <class Real>
  Real* output_delta(Real* deltas, Real* below) const {
    return empty() ? below : deltas;
  }
  // Adds parameter derivatives to grads [P], writes the derivative of x to below unless that is
  // null, and takes states.delta through the tile's steps.
  template <class Real>
  void backward(const Real* transposed, const Real* x, int rows, TileStates<Real>& states,
                const Real* activations, Real* deltas, Real* grads, Real* below) const;
  // Transposes the weights for backward(), to the same offset in `transposed` [P].
  template <class Real>
  void refresh_transposed(const Real* params, Real* transposed) const;

 private:
  // Planes of kTileRows * width numbers. In activations: sums of the gates; states; then a MinGRU's
  // outputs, or the states before each row and the sums of the last h. In deltas: of outputs, of
  // sums, of the last h's sums, then of the last h and c.
  std::size_t gates() const { return kind_ == CellKind::kLstm ? 4 : 3; }
  std::size_t state_planes() const { return kind_ == CellKind::kLstm ? 2 : 1; }
  std::size_t plane(std::size_t k) const {
    return k * kTileRows * static_cast<std::size_t>(width());
  }
  bool multiplies_state() const { return state_slice_.out > 0; }
  template <class Real>
  void forward_steps(const Real* params, int rows, const TileStates<Real>& states,
                     Real* activations) const;
  template <class Real>
  void backward_steps(const Real* transposed, int rows, TileStates<Real>& states,
                      const Real* activations, Real* deltas) const;

  CellKind kind_ = CellKind::kNone;
  LinearSlice slice_, state_slice_;
  int width_ = 0;
  std::size_t state_ = 0;
};

}  // namespace broadloom
