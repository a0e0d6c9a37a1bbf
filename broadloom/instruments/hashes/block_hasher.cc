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

bool is_hashed(const BlockArray& array) { return array.is_hashed && array.is_present; }

template <class Number, class Visitor>
void visit_numbers(const std::vector<Number>& numbers, Visitor&& visit) {
  visit(numbers.data());
}
template <class Visitor>
void visit_numbers(const Observations& observations, Visitor&& visit) {
  observations.visit(visit);
}

// visit(index in hashed_fields(), array [T, N, width], width)
template <class Visitor>
void visit_fields(const RolloutBlock& block, Visitor&& visit) {
  std::size_t field = 0;
  RolloutBlock::visit_arrays(block, [&](const BlockArray& array, auto member) {
    if (!is_hashed(array)) return;
    visit_numbers(block.*member, [&](const auto* numbers) { visit(field, numbers, array.width); });
    ++field;
  });
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

std::size_t scratch_floats(const BlockSizes& sizes) {
  int widest = kTile;
  RolloutBlock::visit_arrays(sizes, [&](const BlockArray& array, auto) {
    if (is_hashed(array)) widest = std::max(widest, array.width);
  });
  return static_cast<std::size_t>(sizes.T) * widest;
}

}  // namespace

std::vector<const char*> hashed_fields(const BlockSizes& sizes) {
  std::vector<const char*> names;
  RolloutBlock::visit_arrays(sizes, [&](const BlockArray& array, auto) {
    if (is_hashed(array)) names.push_back(array.name);
  });
  return names;
}

BlockHasher::BlockHasher(const BlockSizes& sizes, int threads)
    : hashes_(sizes), scratch_(threads, std::vector<float>(scratch_floats(sizes))) {}

std::size_t BlockHasher::bytes(const BlockSizes& sizes, int threads) {
  const std::size_t numbers =
      hashed_fields(sizes).size() * (static_cast<std::size_t>(sizes.N) + sizes.T);
  return numbers * sizeof(std::uint64_t) + threads * scratch_floats(sizes) * sizeof(float);
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
