#include "broadloom/rollout/minibatches.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "broadloom/core/random.h"
#include "broadloom/math/random_rows.h"

namespace broadloom {

Minibatches::Minibatches(int batch_size, int count)
    : batch_size_(batch_size),
      count_(count),
      samples_(batch_size),
      permutation_(static_cast<std::size_t>(batch_size)) {}

void Minibatches::shuffle(std::uint64_t seed, std::int64_t iteration, int epoch,
                          std::span<const std::uint8_t> fillers) {
  const RandomStream stream{seed, Purpose::kShuffle, static_cast<std::uint32_t>(epoch),
                            static_cast<std::uint64_t>(iteration)};
  constexpr int kBlocks = 64;  // drawn at a time
  std::array<std::uint32_t, 4 * kBlocks> words;
  std::iota(permutation_.begin(), permutation_.end(), 0);
  samples_ = batch_size_;
  if (!fillers.empty()) {
    const auto is_filler = [&](std::int32_t row) {
      return fillers[static_cast<std::size_t>(row)] != 0;
    };
    const auto end = std::remove_if(permutation_.begin(), permutation_.end(), is_filler);
    samples_ = static_cast<int>(end - permutation_.begin());
  }
  std::uint32_t left = static_cast<std::uint32_t>(samples_);
  for (std::uint32_t block = 0; left > 1; block += kBlocks) {
    random_words(stream, block, kBlocks, words.data());
    for (std::size_t w = 0; w < words.size() && left > 1; ++w, --left) {
      std::swap(permutation_[left - 1], permutation_[below(words[w], left)]);
    }
  }
}

}  // namespace broadloom
