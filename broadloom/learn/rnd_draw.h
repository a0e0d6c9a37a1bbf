// Which samples of an update's minibatches train RND's predictor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace broadloom {

class RndDraw {
 public:
  // Each with that probability, of blocks of batch_size samples.
  RndDraw(double proportion, int batch_size)
      : proportion_(proportion), is_drawn_(static_cast<std::size_t>(batch_size)) {}

  // Drawn anew for every epoch, from the streams (seed, kRndMask, epoch, iteration).
  void begin_epoch(std::uint64_t seed, std::int64_t iteration, int epoch);
  // Those of a minibatch, indices [samples] into the block, behind what is in `to`: the first
  // sample where there would be none.
  void append(const std::int32_t* indices, int samples, std::vector<std::int32_t>& to) const;

 private:
  double proportion_;
  std::vector<std::uint8_t> is_drawn_;  // [B]
};

}  // namespace broadloom
