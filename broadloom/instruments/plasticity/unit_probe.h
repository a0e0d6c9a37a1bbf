// Idle units of a network, layer by layer, over rows that come in tiles.
#pragma once

#include <cstddef>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/instruments/plasticity/unit_activity.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// Reads the results of NetworkRows, tile by tile; different tiles may do so concurrently. Every
// tile has sums of its own, so threads cannot change the order of additions. The constructor
// allocates all memory. The network must outlive this object.
class UnitProbe {
 public:
  // A chain of hidden layers: "encoder" if it is shared, otherwise "actor" and "critic", and those
  // after a cell, "actor_top" and "critic_top".
  struct Body {
    const char* name;
    const Chain* chain;
    AlignedVector<float> TileWorkspace<float>::*outputs;
    std::vector<std::size_t> layers = {};  // indices of the chain's layers with units
    std::size_t first_unit = 0;            // index among all bodies' units, layer after layer

    // Output of the last layer, [rows, out].
    const float* features(const TileWorkspace<float>& work) const {
      return (work.*outputs).data() + chain->output_offset(chain->layers().size() - 1);
    }
  };

  UnitProbe(const ActorCritic& network, int rows);
  static std::size_t bytes(const ActorCritic& network, int rows);

  const std::vector<Body>& bodies() const { return bodies_; }

  // Overwrites the tile's sums with those over its first `count` rows.
  void take(int tile, int count, const TileWorkspace<float>& work);
  // Adds up the tiles. Call it after the last take().
  void finish();
  // Idle units of one of body.layers, counted from 0, and of all layers together. Valid after
  // finish().
  IdleUnits idle(const Body& body, std::size_t layer) const;
  IdleUnits idle() const;

 private:
  int rows_;
  std::vector<Body> bodies_;
  std::vector<std::vector<UnitSums>> tiles_;  // [tiles][units of all bodies]
};

}  // namespace broadloom
