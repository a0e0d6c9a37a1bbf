// Assigns each state to a cell of a fixed grid.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/env/spec.h"
#include "broadloom/rollout/normalizer.h"

namespace broadloom {

// Discrete observations (one-hot) have one cell per state. Box observations have kSide cells along
// each of two axes (one axis if D is 1). The grid is fixed when it is made:
//
// - Every number of an observation is standardised to mean 0 and deviation 1 over the probe states.
// - If D is 2, the axes are those numbers. Otherwise they are a random orthonormal pair, always the
//   same for the same D.
// - A coordinate u maps to (1 + u / (1 + |u|)) / 2 in (0, 1). Half of the cells lie within one
//   deviation of the probe. States far outside, which an untrained policy has not seen, still have
//   cells of their own.
//
// Principal axes would be the natural choice, but they have three faults. The probe's axes describe
// the first policy's movements. Redundant numbers attract them. If two are of similar length, a
// last bit rotates them, so two machines may disagree.
class StateGrid {
 public:
  static constexpr int kSide = 32;

  // probe: [rows, D], not normalised; empty: mean 0, deviation 1.
  StateGrid(SpaceKind observation_kind, int observation_size, std::span<const float> probe);

  static int axes(SpaceKind observation_kind, int observation_size);
  static int cells(SpaceKind observation_kind, int observation_size);
  int cells() const { return cells_; }

  // The grid is fixed on raw observations. If a block holds normalised ones, this sets the
  // normaliser that made them; null for raw ones. Allocates nothing.
  void look_through(const ObsNormalizer* normalizer);
  // The cell of an observation [D], in [0, cells).
  std::int32_t cell(const float* observation) const;

 private:
  void standardise(std::span<const float> probe);
  void make_axes();
  double coordinate(std::size_t axis, const float* observation) const;

  SpaceKind kind_;
  std::size_t size_;
  int cells_;
  std::vector<double> mean_, deviation_;  // [D] of the probe
  std::vector<double> axes_;              // [axes, D]
  std::vector<double> weights_;           // [axes, D] for observations as the block holds them
  std::vector<double> offsets_;           // [axes]
};

}  // namespace broadloom
