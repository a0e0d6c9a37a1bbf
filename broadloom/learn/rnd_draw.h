// Draws the samples of minibatches that train RND's predictor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace broadloom {

class RndDraw {
 public:
  // proportion: probability of each sample. batch_size: samples per block.
  RndDraw(double proportion, int batch_size)
      : proportion_(proportion), is_drawn_(static_cast<std::size_t>(batch_size)) {}

  // Draws again for every epoch, from the stream (seed, kRndMask, epoch, iteration).
  void begin_epoch(std::uint64_t seed, std::int64_t iteration, int epoch);
  // Appends the drawn ones of indices [samples] to `drawn`; the first one if none is drawn.
  void append(const std::int32_t* indices, int samples, std::vector<std::int32_t>& drawn) const;

 private:
  double proportion_;
  std::vector<std::uint8_t> is_drawn_;  // [B]
};

}  // namespace broadloom
