// Capability: environments whose episodes belong to strata, or follow a curriculum over them.
// Metrics and the check of a curriculum's keys use it.
#pragma once

namespace broadloom {

class EpisodeStrata {
 public:
  virtual ~EpisodeStrata() = default;

  // Index into spec().strata of the environment's current episode; -1: no strata.
  virtual int stratum(int env) const = 0;
  // The environment's level of the curriculum, from 0; -1: no curriculum.
  virtual int level(int env) const = 0;
};

}  // namespace broadloom
