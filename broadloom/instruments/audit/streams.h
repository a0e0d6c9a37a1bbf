// Random streams as records describe them, and a check that no two are the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace broadloom {

// Lanes counted for streams whose lanes are tensors or epochs.
inline constexpr std::int64_t kFewLanes = 64;

// Lanes [0, lanes) of one purpose on one seed, at every index: see core/random.h.
struct StreamUse {
  std::string name;  // such as "train_reset"
  bool evaluation = false;
  std::uint64_t seed = 0;
  std::uint32_t purpose = 0;  // the purpose's number in the counter
  std::int64_t lanes = 0;
};

struct StreamCollision {
  const StreamUse* first;
  const StreamUse* second;
  std::int64_t lanes = 0;  // lanes that both use
  bool evaluation_seen() const { return first->evaluation != second->evaluation; }
};

// Pairs of uses with the same seed and purpose and a common lane: they draw the same numbers.
std::vector<StreamCollision> find_collisions(std::span<const StreamUse> uses);

// A training run's streams, for any algorithm. Actions use N lanes, environments draw from F.
std::vector<StreamUse> training_streams(std::uint64_t seed, int num_envs, int families);
// Streams of an evaluation of `episodes` episodes.
std::vector<StreamUse> evaluation_streams(std::uint64_t seed, int episodes);

// Number of lane pairs whose first 64 bits are equal, as core/random.h draws them. This checks the
// numbers that find_collisions() only knows by description. Reads the first 64 lanes of each use.
// Different streams are equal only with probability 2^-64.
int equal_first_draws(std::span<const StreamUse> uses);

}  // namespace broadloom
