#include "broadloom/rollout/minibatches.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "broadloom/core/random.h"
#include "broadloom/math/random_rows.h"

namespace broadloom {

int draw_permutation(std::uint64_t seed, std::int64_t iteration, int epoch,
                     std::span<std::int32_t> permutation, std::span<const std::uint8_t> fillers) {
  const RandomStream stream{seed, Purpose::kShuffle, static_cast<std::uint32_t>(epoch),
                            static_cast<std::uint64_t>(iteration)};
  constexpr int kBlocks = 64;  // drawn at a time
  std::array<std::uint32_t, 4 * kBlocks> words;
  std::iota(permutation.begin(), permutation.end(), 0);
  int samples = static_cast<int>(permutation.size());
  if (!fillers.empty()) {
    const auto is_filler = [&](std::int32_t row) {
      return fillers[static_cast<std::size_t>(row)] != 0;
    };
    samples = static_cast<int>(std::remove_if(permutation.begin(), permutation.end(), is_filler) -
                               permutation.begin());
  }
  std::uint32_t left = static_cast<std::uint32_t>(samples);
  for (std::uint32_t block = 0; left > 1; block += kBlocks) {
    random_words(stream, block, kBlocks, words.data());
    for (std::size_t w = 0; w < words.size() && left > 1; ++w, --left) {
      std::swap(permutation[left - 1], permutation[below(words[w], left)]);
    }
  }
  return samples;
}

void Minibatches::shuffle(std::uint64_t seed, std::int64_t iteration, int epoch,
                          std::span<const std::uint8_t> fillers) {
  if (steps_ == 1) {
    epoch_.samples = draw_permutation(seed, iteration, epoch, permutation_, fillers);
    return;
  }
  draw_permutation(seed, iteration, epoch, envs_);
  const int num_envs = static_cast<int>(envs_.size());
  auto row = permutation_.begin();
  for (int m = 0; m < count(); ++m) {
    const int end = epoch_.begin(m + 1);
    for (int first = epoch_.begin(m); first < end; first += together_) {
      const int last = std::min(first + together_, end);
      for (int t = 0; t < steps_; ++t) {
        for (int e = first; e < last; ++e) {
          *row++ = t * num_envs + envs_[static_cast<std::size_t>(e)];
        }
      }
    }
  }
}

}  // namespace broadloom
