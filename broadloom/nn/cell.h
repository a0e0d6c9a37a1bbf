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
};

// Sequences of `steps` rows that pass through tiles together: as many as fit into one tile, or one
// that takes several. Part of the bits contract.
inline int sequences_per_tile(int steps) { return std::max(kTileRows / steps, 1); }

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
  // state: offset of the cell's numbers in a state.
  Cell(CellKind kind, int width, std::size_t state, ParameterLayout& layout);

  bool empty() const { return kind_ == CellKind::kNone; }
  int width() const { return slice_.in; }  // of inputs and outputs; 0 if empty
  std::size_t state_offset() const { return state_; }
  std::size_t state_size() const { return static_cast<std::size_t>(width()); }
  const LinearSlice& slice() const { return slice_; }  // W and b of all sums
  // Numbers in a tile's activations and in its deltas.
  std::size_t workspace_size() const { return kTileRows * 5 * state_size(); }
  std::size_t delta_size() const { return kTileRows * 4 * state_size(); }

  // Writes sums, states and outputs for x [rows, width] to activations, rows <= kTileRows. Returns
  // the outputs [rows, width], or x if the cell is empty.
  template <class Real>
  const Real* forward(const Real* params, const Real* x, int rows, const TileStates<Real>& states,
                      Real* activations) const;
  // The pointer that forward() returned.
  template <class Real>
  const Real* output(const Real* x, const Real* activations) const {
    return empty() ? x : activations + kTileRows * 4 * state_size();
  }
  // The states after each row, [rows, width].
  template <class Real>
  const Real* states(const Real* activations) const {
    return activations + kTileRows * 3 * state_size();
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
  CellKind kind_ = CellKind::kNone;
  LinearSlice slice_;
  std::size_t state_ = 0;
};

}  // namespace broadloom
