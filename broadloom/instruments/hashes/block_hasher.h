// Content hashes of a rollout block: a short form of the data that two equal runs have in common.
//
// Each field has a hash of every environment's row over the T steps, and one of every step's column
// over the N environments. N + T numbers thus replace the N T of single transitions. If two runs
// differ, the first different column names the step, and the rows name the environment.
//
// Stacks of frames are hashed as a block stores them: each frame once, at the step that first
// showed it. Older frames of the first stacks count at the first step. If two stacks differ, the
// hash of that step or of an earlier one differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// Names of the hashed arrays of a block of these sizes, in causal order within a step. The first
// array that differs is where a difference arose. Files depend on the order.
std::vector<const char*> hashed_fields(const BlockSizes& sizes);

// Hashes of one iteration: XXH3, 64 bits, of the bytes as the block stores them.
struct BlockHashes {
  BlockHashes() = default;
  explicit BlockHashes(const BlockSizes& sizes)
      : T(sizes.T),
        N(sizes.N),
        fields(hashed_fields(sizes)),
        rows(fields.size() * static_cast<std::size_t>(N)),
        columns(fields.size() * static_cast<std::size_t>(T)) {}

  std::uint64_t row(std::size_t field, int env) const { return rows[field * N + env]; }
  std::uint64_t column(std::size_t field, int step) const { return columns[field * T + step]; }

  int T = 0, N = 0;
  std::vector<const char*> fields;
  std::vector<std::uint64_t> rows;     // [fields, N] of one environment, over all steps
  std::vector<std::uint64_t> columns;  // [fields, T] of one step, over all environments
  std::uint64_t params = 0;            // hash of the parameters after the update
};

class BlockHasher {
 public:
  BlockHasher(const BlockSizes& sizes, int threads);
  // Memory of the hasher, in bytes.
  static std::size_t bytes(const BlockSizes& sizes, int threads);

  // Hashes a block just collected. The numbers do not depend on the number of threads. Allocates
  // nothing.
  void take_block(const RolloutBlock& block, const ShardPlan& shards, ThreadPool& pool);
  void take_params(std::span<const float> params);

  const BlockHashes& hashes() const { return hashes_; }

 private:
  BlockHashes hashes_;
  // One buffer per thread for rows of some neighbours, [k, T, width] of any type.
  std::vector<AlignedVector<std::byte>> scratch_;
};

}  // namespace broadloom
