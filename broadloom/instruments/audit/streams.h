// Random streams as a record describes them: whether any two are the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace broadloom {

// As many lanes as streams whose lanes are tensors or epochs are taken to have.
inline constexpr std::int64_t kFewLanes = 64;

// Lanes [0, lanes) of one purpose on one seed, every index: see core/random.h.
struct StreamUse {
  std::string name;  // such as "train_reset"
  bool evaluation = false;
  std::uint64_t seed = 0;
  std::uint32_t purpose = 0;  // the number that is part of the counter
  std::int64_t lanes = 0;
};

struct StreamCollision {
  const StreamUse* first;
  const StreamUse* second;
  std::int64_t lanes = 0;  // that both have
  bool evaluation_seen() const { return first->evaluation != second->evaluation; }
};

// Pairs with the same seed and purpose and a lane in common: they draw the same numbers.
std::vector<StreamCollision> find_collisions(std::span<const StreamUse> uses);

// A training run's streams, as the library takes them whatever the algorithm: actions have N lanes,
// what environments draw has F.
std::vector<StreamUse> training_streams(std::uint64_t seed, int num_envs, int families);
// An evaluation's, of so many episodes.
std::vector<StreamUse> evaluation_streams(std::uint64_t seed, int episodes);

// How often the first 64 bits of two lanes are the same, as core/random.h makes them: what
// find_collisions() says of the description, asked of the numbers themselves. Looks at the first 64
// lanes of each use; of different streams, none are the same but by a chance of 2^-64.
int equal_first_draws(std::span<const StreamUse> uses);

}  // namespace broadloom
