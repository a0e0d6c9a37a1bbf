// Content hashes of a rollout block: what two runs must have in common, in few numbers.
//
// Each field of the block has a hash of every environment's row over the T steps and one of every
// step's column over the N environments: N + T numbers where one of every transition would be N T.
// Where two runs part, the first column that differs names the step and the rows name the
// environment. Stacks of frames are hashed as a block stores them, each frame once, at the step
// that showed it first, and those that the first stacks bring along at the first: where two stacks
// differ, so does the hash of that step or of one before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// The names of the hashed arrays of a block of these sizes, in the order of cause within a step:
// the first of them to differ is where a difference came in. Files depend on the order.
std::vector<const char*> hashed_fields(const BlockSizes& sizes);

// Those of one iteration. XXH3, 64 bits, of the bytes as the block holds them.
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
  std::uint64_t params = 0;            // of the parameters after the update
};

class BlockHasher {
 public:
  BlockHasher(const BlockSizes& sizes, int threads);
  // What it holds, in bytes.
  static std::size_t bytes(const BlockSizes& sizes, int threads);

  // Of a block just collected. The same numbers for any number of threads; allocates nothing.
  void take_block(const RolloutBlock& block, const ShardPlan& shards, ThreadPool& pool);
  void take_params(std::span<const float> params);

  const BlockHashes& hashes() const { return hashes_; }

 private:
  BlockHashes hashes_;
  // One a thread: rows of some neighbours, [k, T, width] of any type.
  std::vector<AlignedVector<std::byte>> scratch_;
};

}  // namespace broadloom
