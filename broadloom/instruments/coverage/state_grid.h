// Which cell of a fixed grid a state lies in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/env/spec.h"
#include "broadloom/rollout/normalizer.h"

namespace broadloom {

// Discrete observations (one-hot): a cell a state, exactly. Box: kSide cells along each of two axes
// (along one where D is 1), fixed when the grid is made:
//   every number of an observation is brought to mean 0 and deviation 1 over the probe states;
//   the axes are those two numbers themselves where D is 2, otherwise a random orthonormal pair,
//   always the same for the same D. Principal axes would be the natural choice, but those of the
//   probe say how the first policy moves, are drawn to numbers that say the same twice, and where
//   two are about as long a last bit turns them, so that no two machines need agree;
//   a coordinate u goes to (1 + u / (1 + |u|)) / 2 in (0, 1): half of the cells lie within one
//   deviation of the probe, and what is far outside, which an untrained policy has not seen, still
//   has cells of its own.
class StateGrid {
 public:
  static constexpr int kSide = 32;

  // probe: [rows, D], not normalised; empty: mean 0, deviation 1.
  StateGrid(SpaceKind observation_kind, int observation_size, std::span<const float> probe);

  static int axes(SpaceKind observation_kind, int observation_size);
  static int cells(SpaceKind observation_kind, int observation_size);
  int cells() const { return cells_; }

  // The grid is fixed on raw observations: where a block holds normalised ones, this must be told
  // what they were normalised with. Null: they are raw. Nothing is allocated.
  void look_through(const ObsNormalizer* normalizer);
  // In [0, cells), for an observation [D].
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
  std::vector<double> weights_;           // [axes, D] for the observations as they come
  std::vector<double> offsets_;           // [axes]
};

}  // namespace broadloom
