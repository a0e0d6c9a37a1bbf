// Noise matrices of environments, which state_noise.h keeps for some steps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/math/random_rows.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/nn/policy_distribution.h"

namespace broadloom {

// Empty unless the network's shape has_state_noise().
class KeptNoise {
 public:
  KeptNoise(const ActorCritic& network, std::size_t rows)
      : size_(static_cast<std::size_t>(network.noise_size())),
        sample_freq_(network.shape().sde_sample_freq),
        matrices_(rows * size_) {}

  static std::size_t row_bytes(const ActorCritic& network) {
    return sizeof(float) * static_cast<std::size_t>(network.noise_size());
  }

  // The noise of rows [first, first + streams.rows) at step t of the block or episode, for
  // PolicySampler. Redraws their matrices at the steps for it, from the streams at an index that no
  // step has. streams.index: the step of the environment's stream.
  DrawnNoise at(int t, const RandomRows& streams, std::size_t first, NoiseRows<float> rows) {
    float* const matrices = matrices_.data() + first * size_;
    if (size_ > 0 && (t == 0 || (sample_freq_ > 0 && t % sample_freq_ == 0))) {
      for (int r = 0; r < streams.rows; ++r) {
        draw_noise({streams.seed, streams.purpose,
                    streams.first_lane + static_cast<std::uint32_t>(r), streams.index + kIndex},
                   rows.variances, static_cast<int>(size_),
                   matrices + static_cast<std::size_t>(r) * size_);
      }
    }
    return {rows, matrices};
  }

 private:
  static constexpr std::uint64_t kIndex = std::uint64_t{1} << 54;  // indices are below 2^56

  std::size_t size_;  // L A
  int sample_freq_;
  AlignedVector<float> matrices_;  // [rows, L, A]
};

}  // namespace broadloom
