#include "broadloom/instruments/hashes/block_hasher.h"

#include <algorithm>

#include "broadloom/core/hash.h"

namespace broadloom {
namespace {

constexpr int kTile = 16;    // floats in a cache line: neighbours gathered together
constexpr int kChunks = 16;  // tasks that share the columns

template <class Number>
std::uint64_t hash_of(const Number* numbers, std::size_t count) {
  return hash64({reinterpret_cast<const char*>(numbers), count * sizeof(Number)});
}

bool is_hashed(const BlockArray& array) { return array.is_hashed && array.is_present; }

// Neighbours in one tile: as many as share a cache line.
int tile_rows(int width) { return std::max(1, kTile / width); }

template <class Number, class Visitor>
void visit_numbers(const std::vector<Number>& numbers, int width, Visitor&& visit) {
  visit(numbers.data(), width, 0);
}
template <class Visitor>
void visit_numbers(const Observations& observations, int, Visitor&& visit) {
  observations.visit(visit);
}

// Numbers of a field as the block stores them, [before + T, N, width]. If frames are stored once,
// `before` steps are older than the block; they belong to its first step.
template <class Number>
struct Stored {
  const Number* numbers;
  int width, before;
  int tile;  // neighbours gathered together
  const RolloutBlock& block;

  std::size_t step_size() const { return static_cast<std::size_t>(block.N) * width; }
  int steps() const { return before + block.T; }
  // Hash of step t of the block, over all environments.
  std::uint64_t column_hash(int t) const {
    const std::size_t first = t == 0 ? 0 : static_cast<std::size_t>(before + t);
    const std::size_t count = t == 0 ? static_cast<std::size_t>(before + 1) : 1;
    return hash_of(numbers + first * step_size(), count * step_size());
  }
};

// Calls visit(index in hashed_fields(), Stored) for every hashed field.
template <class Visitor>
void visit_fields(const RolloutBlock& block, Visitor&& visit) {
  std::size_t field = 0;
  RolloutBlock::visit_arrays(block, [&](const BlockArray& array, auto member) {
    if (!is_hashed(array)) return;
    visit_numbers(block.*member, array.width,
                  [&]<class Number>(const Number* numbers, int width, int before) {
                    const int tile = tile_rows(array.width);
                    visit(field, Stored<Number>{numbers, width, before, tile, block});
                  });
    ++field;
  });
}

// The block is time-major, so an environment's row is scattered. One pass over the steps gathers a
// tile of rows in `scratch`.
template <class Number>
void hash_rows(const Stored<Number>& stored, Shard shard, Number* scratch, std::uint64_t* out) {
  const int width = stored.width;
  const std::size_t row_size = static_cast<std::size_t>(stored.steps()) * width;
  for (int begin = shard.begin; begin < shard.end; begin += stored.tile) {
    const int rows = std::min(stored.tile, shard.end - begin);
    for (int t = 0; t < stored.steps(); ++t) {
      const Number* step =
          stored.numbers + t * stored.step_size() + static_cast<std::size_t>(begin) * width;
      for (int r = 0; r < rows; ++r) {
        Number* row = scratch + r * row_size + static_cast<std::size_t>(t) * width;
        for (int i = 0; i < width; ++i) row[i] = step[r * width + i];
      }
    }
    for (int r = 0; r < rows; ++r) out[begin + r] = hash_of(scratch + r * row_size, row_size);
  }
}

// Bytes for a tile of rows of the largest field, including its older frames.
std::size_t scratch_bytes(const BlockSizes& sizes) {
  std::size_t most = 0;
  RolloutBlock::visit_arrays(
      sizes, [&]<class Array>(const BlockArray& array, Array RolloutBlock::*) {
        if (!is_hashed(array)) return;
        const std::size_t row = RolloutBlock::array_bytes<Array>(array, sizes) /
                                static_cast<std::size_t>(std::max(sizes.N, 1));
        most = std::max(most, row * static_cast<std::size_t>(tile_rows(array.width)));
      });
  return most;
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
    : hashes_(sizes), scratch_(threads, AlignedVector<std::byte>(scratch_bytes(sizes))) {}

std::size_t BlockHasher::bytes(const BlockSizes& sizes, int threads) {
  const std::size_t numbers =
      hashed_fields(sizes).size() * (static_cast<std::size_t>(sizes.N) + sizes.T);
  return numbers * sizeof(std::uint64_t) + threads * scratch_bytes(sizes);
}

void BlockHasher::take_block(const RolloutBlock& block, const ShardPlan& shards, ThreadPool& pool) {
  pool.run(shards.count(), [&](int s, int thread) {
    visit_fields(block, [&]<class Number>(std::size_t field, const Stored<Number>& stored) {
      Number* scratch = reinterpret_cast<Number*>(scratch_[thread].data());
      hash_rows(stored, shards[s], scratch, &hashes_.rows[field * block.N]);
    });
  });
  const int chunks = std::min(kChunks, block.T);
  pool.run(chunks, [&](int chunk) {
    const auto begin = static_cast<int>(std::int64_t{block.T} * chunk / chunks);
    const auto end = static_cast<int>(std::int64_t{block.T} * (chunk + 1) / chunks);
    visit_fields(block, [&](std::size_t field, const auto& stored) {
      for (int t = begin; t < end; ++t) {
        hashes_.columns[field * block.T + t] = stored.column_hash(t);
      }
    });
  });
}

void BlockHasher::take_params(std::span<const float> params) {
  hashes_.params = hash_of(params.data(), params.size());
}

}  // namespace broadloom
