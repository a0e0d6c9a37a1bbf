// Idle units of a network, layer by layer, over rows that come in tiles.
#pragma once

#include <cstddef>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/instruments/plasticity/unit_activity.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// Takes in what NetworkRows computed, tile by tile; different tiles may do so at the same time.
// Every tile has sums of its own, so that they are added in an order that threads cannot change.
// All memory is taken when it is made. The network must outlive it.
class UnitProbe {
 public:
  // A chain of hidden layers: "encoder" where it is shared, otherwise "actor" and "critic".
  struct Body {
    const char* name;
    const Chain* chain;
    AlignedVector<float> TileWorkspace<float>::*outputs;
    std::vector<std::size_t> layers = {};  // of the chain, those that have units
    std::size_t first_unit = 0;            // of all bodies' units, layer after layer

    // Of the last layer, [rows, out].
    const float* features(const TileWorkspace<float>& work) const {
      return (work.*outputs).data() + chain->output_offset(chain->layers().size() - 1);
    }
  };

  UnitProbe(const ActorCritic& network, int rows);
  static std::size_t bytes(const ActorCritic& network, int rows);

  const std::vector<Body>& bodies() const { return bodies_; }

  // The tile's sums over its first `count` rows, in the place of those it had.
  void take(int tile, int count, const TileWorkspace<float>& work);
  // Adds up the tiles, after the last of them was taken.
  void finish();
  // Of one of the body's layers with units, counted from 0, and of all together, as finish() left
  // them.
  IdleUnits idle(const Body& body, std::size_t layer) const;
  IdleUnits idle() const;

 private:
  int rows_;
  std::vector<Body> bodies_;
  std::vector<std::vector<UnitSums>> tiles_;  // [tiles][units of all bodies]
};

}  // namespace broadloom
