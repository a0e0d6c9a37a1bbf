#include "broadloom/learn/rnd_draw.h"

#include <algorithm>
#include <array>

#include "broadloom/math/random_rows.h"

namespace broadloom {

void RndDraw::begin_epoch(std::uint64_t seed, std::int64_t iteration, int epoch) {
  const RandomStream stream{seed, Purpose::kRndMask, static_cast<std::uint32_t>(epoch),
                            static_cast<std::uint64_t>(iteration)};
  constexpr int kBlocks = 64;  // drawn at a time
  std::array<std::uint32_t, 4 * kBlocks> words;
  std::uint32_t block = 0;
  for (std::size_t i = 0; i < is_drawn_.size(); i += words.size(), block += kBlocks) {
    random_words(stream, block, kBlocks, words.data());
    const std::size_t count = std::min(words.size(), is_drawn_.size() - i);
    for (std::size_t k = 0; k < count; ++k) {
      is_drawn_[i + k] = words[k] * 0x1p-32 < proportion_;
    }
  }
}

void RndDraw::append(const std::int32_t* indices, int samples,
                     std::vector<std::int32_t>& drawn) const {
  const std::size_t before = drawn.size();
  for (int s = 0; s < samples; ++s) {
    if (is_drawn_[static_cast<std::size_t>(indices[s])] != 0) drawn.push_back(indices[s]);
  }
  if (drawn.size() == before) drawn.push_back(indices[0]);
}

}  // namespace broadloom
