#include "broadloom/rollout/teacher.h"

#include <cstddef>

namespace broadloom {

TeacherScratch Teacher::make_scratch() const {
  const auto width = static_cast<std::size_t>(network_.shape().observation_size);
  return {network_.make_workspace<float>(), AlignedVector<float>(width * kTileRows)};
}

void Teacher::label(const Observations& raw, std::size_t first, int rows, const std::uint8_t* valid,
                    TeacherScratch& scratch, float* labels) const {
  const std::size_t count = static_cast<std::size_t>(rows);
  const float* seen = raw.view(first, count, scratch.seen.data());
  if (normalizer_ != nullptr) {
    normalizer_->normalize(seen, rows, scratch.seen.data());
    seen = scratch.seen.data();
  }
  NetworkInput<float> input(seen);
  input.valid = valid;
  network_.forward(params_, input, rows, scratch.work, NetworkSide::kPolicy);
  const NetworkShape& shape = network_.shape();
  const std::size_t outputs =
      static_cast<std::size_t>(shape.logits()) + static_cast<std::size_t>(shape.box_size());
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t o = 0; o < outputs; ++o) {
      labels[r * outputs + o] = scratch.work.policy[o * kTileRows + r];
    }
  }
}

}  // namespace broadloom
