// Capability: environments whose episodes belong to strata, or follow a curriculum over them.
// Metrics and the check of a curriculum's keys ask for it.
#pragma once

namespace broadloom {

class EpisodeStrata {
 public:
  virtual ~EpisodeStrata() = default;

  // Which of spec().strata the environment's present episode is in; -1: there are none.
  virtual int stratum(int env) const = 0;
  // Which level of the curriculum the environment is on, from 0; -1: there is no curriculum.
  virtual int level(int env) const = 0;
};

}  // namespace broadloom
