#include "broadloom/instruments/hashes/block_hasher.h"

#include <algorithm>

#include "broadloom/core/hash.h"

namespace broadloom {
namespace {

constexpr int kTile = 16;    // floats in a cache line: neighbours that are gathered together
constexpr int kChunks = 16;  // tasks that the columns are cut into

template <class Number>
std::uint64_t hash_of(const Number* from, std::size_t count) {
  return hash64({reinterpret_cast<const char*>(from), count * sizeof(Number)});
}

// visit(index in kHashedFields, array [T, N, width], width)
template <class Visitor>
void visit_fields(const RolloutBlock& block, Visitor&& visit) {
  std::size_t field = 0;
  visit(field++, block.observations.data(), block.D);
  visit(field++, block.values.data(), 1);
  visit(field++, block.log_probs.data(), 1);
  visit(field++, block.actions.data(), block.A);
  visit(field++, block.rewards.data(), 1);
  visit(field++, block.terminated.data(), 1);
  visit(field++, block.truncated.data(), 1);
}

// Neighbours of one tile: as many as share a cache line.
int tile_rows(int width) { return std::max(1, kTile / width); }

// The block is time-major, so a row is spread over it; a tile of rows is brought together in
// `scratch` with one pass over the steps.
template <class Number>
void hash_rows(const Number* from, int width, const RolloutBlock& block, Shard shard,
               Number* scratch, std::uint64_t* out) {
  const std::size_t row_size = static_cast<std::size_t>(block.T) * width;
  for (int begin = shard.begin; begin < shard.end; begin += tile_rows(width)) {
    const int rows = std::min(tile_rows(width), shard.end - begin);
    for (int t = 0; t < block.T; ++t) {
      const Number* step = from + block.index(t, begin) * width;
      for (int r = 0; r < rows; ++r) {
        Number* to = scratch + r * row_size + static_cast<std::size_t>(t) * width;
        for (int i = 0; i < width; ++i) to[i] = step[r * width + i];
      }
    }
    for (int r = 0; r < rows; ++r) out[begin + r] = hash_of(scratch + r * row_size, row_size);
  }
}

std::size_t scratch_floats(int num_steps, int observation_size, int action_size) {
  const int widest = std::max({kTile, observation_size, action_size});
  return static_cast<std::size_t>(num_steps) * widest;
}

}  // namespace

BlockHasher::BlockHasher(int num_steps, int num_envs, int observation_size, int action_size,
                         int threads)
    : hashes_(num_steps, num_envs),
      scratch_(threads,
               std::vector<float>(scratch_floats(num_steps, observation_size, action_size))) {}

std::size_t BlockHasher::bytes(int num_steps, int num_envs, int observation_size, int action_size,
                               int threads) {
  const std::size_t numbers =
      kHashedFields.size() * (static_cast<std::size_t>(num_envs) + num_steps);
  return numbers * sizeof(std::uint64_t) +
         threads * scratch_floats(num_steps, observation_size, action_size) * sizeof(float);
}

void BlockHasher::take_block(const RolloutBlock& block, const ShardPlan& shards, ThreadPool& pool) {
  pool.run(shards.count(), [&](int s, int thread) {
    visit_fields(block, [&](std::size_t field, const auto* from, int width) {
      using Number = std::remove_cv_t<std::remove_reference_t<decltype(*from)>>;
      Number* scratch = reinterpret_cast<Number*>(scratch_[thread].data());
      hash_rows(from, width, block, shards[s], scratch, &hashes_.rows[field * block.N]);
    });
  });
  const int chunks = std::min(kChunks, block.T);
  pool.run(chunks, [&](int chunk) {
    const auto begin = static_cast<int>(std::int64_t{block.T} * chunk / chunks);
    const auto end = static_cast<int>(std::int64_t{block.T} * (chunk + 1) / chunks);
    visit_fields(block, [&](std::size_t field, const auto* from, int width) {
      const std::size_t count = static_cast<std::size_t>(block.N) * width;
      for (int t = begin; t < end; ++t) {
        hashes_.columns[field * block.T + t] = hash_of(from + t * count, count);
      }
    });
  });
}

void BlockHasher::take_params(std::span<const float> params) {
  hashes_.params = hash_of(params.data(), params.size());
}

}  // namespace broadloom
