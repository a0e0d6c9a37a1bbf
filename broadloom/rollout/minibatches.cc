#include "broadloom/rollout/minibatches.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "broadloom/core/random.h"
#include "broadloom/math/random_rows.h"

namespace broadloom {
namespace {

// Lists the rows that are samples, then the others. Returns the number of samples.
int list_samples(std::span<std::int32_t> rows, std::span<const std::uint8_t> fillers) {
  std::iota(rows.begin(), rows.end(), 0);
  if (fillers.empty()) return static_cast<int>(rows.size());
  const auto is_filler = [&](std::int32_t row) {
    return fillers[static_cast<std::size_t>(row)] != 0;
  };
  return static_cast<int>(std::remove_if(rows.begin(), rows.end(), is_filler) - rows.begin());
}

}  // namespace

int draw_permutation(std::uint64_t seed, std::int64_t iteration, int epoch,
                     std::span<std::int32_t> permutation, std::span<const std::uint8_t> fillers) {
  const RandomStream stream{seed, Purpose::kShuffle, static_cast<std::uint32_t>(epoch),
                            static_cast<std::uint64_t>(iteration)};
  constexpr int kBlocks = 64;  // drawn at a time
  std::array<std::uint32_t, 4 * kBlocks> words;
  const int samples = list_samples(permutation, fillers);
  std::uint32_t left = static_cast<std::uint32_t>(samples);
  for (std::uint32_t block = 0; left > 1; block += kBlocks) {
    random_words(stream, block, kBlocks, words.data());
    for (std::size_t w = 0; w < words.size() && left > 1; ++w, --left) {
      std::swap(permutation[left - 1], permutation[below(words[w], left)]);
    }
  }
  return samples;
}

int draw_order(Shuffle shuffle, std::uint64_t seed, std::int64_t iteration, int epoch,
               std::span<std::int32_t> order, std::span<const std::uint8_t> fillers) {
  if (shuffle == Shuffle::kOff) return list_samples(order, fillers);
  return draw_permutation(seed, iteration, epoch, order, fillers);
}

void Minibatches::shuffle(std::uint64_t seed, std::int64_t iteration, int epoch,
                          std::span<const std::uint8_t> fillers, int num_envs) {
  if (epoch > 0 && shuffle_ != Shuffle::kEpoch) return;
  if (steps_ == 1) {
    epoch_.samples = draw_order(shuffle_, seed, iteration, epoch, permutation_, fillers);
    return;
  }
  draw_order(shuffle_, seed, iteration, epoch, sequences_);
  if (num_envs == 0) num_envs = static_cast<int>(sequences_.size());
  auto row = permutation_.begin();
  for (int m = 0; m < count(); ++m) {
    const int end = epoch_.begin(m + 1);
    for (int first = epoch_.begin(m); first < end; first += together_) {
      const int last = std::min(first + together_, end);
      for (int t = 0; t < steps_; ++t) {
        for (int s = first; s < last; ++s) {
          const int sequence = sequences_[static_cast<std::size_t>(s)];
          const int step = sequence / num_envs * steps_ + t;
          *row++ = step * num_envs + sequence % num_envs;
        }
      }
    }
  }
}

}  // namespace broadloom
