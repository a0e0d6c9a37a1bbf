#include "broadloom/rollout/minibatches.h"

#include <numeric>
#include <utility>

#include "broadloom/core/random.h"

namespace broadloom {

Minibatches::Minibatches(int batch_size, int count)
    : batch_size_(batch_size), count_(count), permutation_(static_cast<std::size_t>(batch_size)) {}

void Minibatches::shuffle(std::uint64_t seed, std::int64_t iteration, int epoch) {
  Random random(seed, Purpose::kShuffle, static_cast<std::uint32_t>(epoch),
                static_cast<std::uint64_t>(iteration));
  std::iota(permutation_.begin(), permutation_.end(), 0);
  for (std::uint32_t i = static_cast<std::uint32_t>(batch_size_); i > 1; --i) {
    std::swap(permutation_[i - 1], permutation_[random.below(i)]);
  }
}

}  // namespace broadloom
