// Plays MinAtar's games with scripted draws, which other programs can reproduce.
#pragma once

#include <cstdint>

#include "broadloom/env/tasks/minatar/asterix.h"
#include "broadloom/env/tasks/minatar/breakout.h"
#include "broadloom/env/tasks/minatar/freeway.h"
#include "broadloom/env/tasks/minatar/seaquest.h"
#include "broadloom/env/tasks/minatar/space_invaders.h"

namespace broadloom {

// x <- a x + c modulo 2^64 (Knuth's MMIX). The upper 53 bits are a number in [0, 1).
class ScriptedDraws {
 public:
  explicit ScriptedDraws(std::uint64_t seed) : x_(seed) {}

  double uniform() {
    x_ = x_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(x_ >> 11) * 0x1.0p-53;
  }
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(uniform() * static_cast<double>(n));
  }

 private:
  std::uint64_t x_;
};

}  // namespace broadloom
