// Level changes of a curriculum (curriculum.h), for host and device.
#pragma once

#include <cstdint>

#include "broadloom/core/host_device.h"
#include "broadloom/core/random.h"
#include "broadloom/env/curriculum.h"

namespace broadloom {

// The standing after one more episode. Uses `random` only to leave the top level.
BROADLOOM_HD inline LevelStanding standing_after(const LevelRule& rule, LevelStanding standing,
                                                 bool success, Random random) {
  standing.successes += success ? 1 : 0;
  if (++standing.episodes < rule.episodes) return standing;
  // Division rounds correctly, as parsing a decimal threshold does, so 4 / 5 >= 0.8 holds.
  const double share = static_cast<double>(standing.successes) / standing.episodes;
  std::int32_t next = standing.level;
  if (share >= rule.up) {
    next += 1;
    if (next == rule.levels) {
      next = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(rule.levels)));
    }
  } else if (share < rule.down) {
    next = next > 0 ? next - 1 : 0;
  }
  return {next, 0, 0};
}

}  // namespace broadloom
