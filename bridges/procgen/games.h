// The sixteen games and their properties.
#pragma once

#include <cstring>

namespace procgen {

enum Mode : int { kEasy = 0, kHard = 1, kExtreme = 2, kMemory = 10 };

struct Game {
  const char* name;
  int limit;         // time limit in steps
  int memory_limit;  // time limit in mode "memory"; 0: no such mode
  bool has_extreme;
  // R_min and R_max of the mode easy: Cobbe et al. 2020, "Leveraging procedural generation to
  // benchmark reinforcement learning", appendix C. R_min is the return of a policy without
  // observations.
  double low, high;
};

inline constexpr Game kGames[] = {
    {"bigfish", 6000, 0, false, 1.0, 40.0},      {"bossfight", 4000, 0, false, 0.5, 13.0},
    {"caveflyer", 1000, 1000, false, 3.5, 12.0}, {"chaser", 1000, 0, true, 0.5, 13.0},
    {"climber", 1000, 0, false, 2.0, 12.6},      {"coinrun", 1000, 0, false, 5.0, 10.0},
    {"dodgeball", 1000, 1000, true, 1.5, 19.0},  {"fruitbot", 1000, 0, false, -1.5, 32.4},
    {"heist", 1000, 1000, false, 3.5, 10.0},     {"jumper", 1000, 2000, false, 3.0, 10.0},
    {"leaper", 500, 0, true, 3.0, 10.0},         {"maze", 500, 500, false, 5.0, 10.0},
    {"miner", 1000, 1000, false, 1.5, 13.0},     {"ninja", 1000, 0, false, 3.5, 10.0},
    {"plunder", 4000, 0, false, 4.5, 30.0},      {"starpilot", 1000, 0, true, 2.5, 64.0},
};

// The mode with this name; -1: none.
inline int mode_of(const char* name) {
  constexpr struct {
    const char* name;
    Mode mode;
  } kModes[] = {{"easy", kEasy}, {"hard", kHard}, {"extreme", kExtreme}, {"memory", kMemory}};
  for (const auto& known : kModes) {
    if (std::strcmp(known.name, name) == 0) return known.mode;
  }
  return -1;
}

}  // namespace procgen
