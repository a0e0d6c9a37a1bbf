#include "broadloom/env/tasks/toy_text/frozen_lake.h"

#include "broadloom/env/tasks/make_entry.h"

namespace broadloom {

struct FrozenLake8x8;  // a name for the registry; its type is FrozenLake

namespace {

FrozenLake::Options large_lake() {
  FrozenLake::Options options;
  options.map_name = "8x8";
  return options;
}

// Upstream's other registration of FrozenLake: the larger map with its own limit and threshold.
void frozen_lake_8x8(EnvSpec& spec) {
  spec.id = "FrozenLake8x8-v1";
  spec.max_episode_steps = 200;
  spec.reward_threshold = 0.85;
  spec.set_score_range(0.00190140, 0.91322015);  // both exact, from table() within 200 steps
  spec.summary = "Cross slippery ice to the goal (8x8).";
}

}  // namespace

template <>
EnvEntry entry_of<FrozenLake>() {
  return make_entry<FrozenLake>();
}

template <>
EnvEntry entry_of<FrozenLake8x8>() {
  return make_entry<FrozenLake>(large_lake(), frozen_lake_8x8);
}

}  // namespace broadloom
