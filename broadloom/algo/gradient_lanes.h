// The gradient of PPO's loss over any samples of a block, on all threads, with the same bits for
// any number of them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/algo/parameter_chunks.h"
#include "broadloom/algo/ppo_loss.h"
#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// How advantages are normalised: (advantage - mean) * scale.
struct AdvantageShift {
  float mean = 0.0f;
  float scale = 1.0f;
};

// What a gradient is of.
struct GradientJob {
  const RolloutBlock& block;
  const std::int32_t* indices;  // [samples] into the block
  int samples;
  AdvantageShift advantages;
  const float* params;           // [P]
  const Bf16Pair* bf16_weights;  // copies of params; null in fp32
  std::int64_t version;          // of params: another one whenever they are others
};

// Of the mean loss over the samples. The view holds until the next one is worked out.
struct GradientResult {
  std::span<const float> gradient;  // [P]
  double norm = 0.0;
  LossSums sums;
};

// Tiles of samples add their gradients into lanes, and lanes are added into the first in a fixed
// tree. Where the network's sides are apart and there are threads for it, a lane is two tasks, one
// a side: then each core keeps to one side's parameters, and hardly needs what is in the other's
// cache.
class GradientLanes {
 public:
  GradientLanes(const ActorCritic& network, const PpoCoefficients& loss, int max_samples,
                int observation_size, int action_size, ThreadPool& pool);

  // Lanes for minibatches of up to so many samples, as if it had been made for them. Allocates.
  void resize(int max_samples);

  // Lanes that a gradient is summed in: what may run at the same time. Part of the bits contract.
  static int lane_count(int samples, std::size_t parameters);

  // All parameters, in the chunks that threads share them by.
  std::span<const ParameterRange> chunks() const { return chunks_; }

  // More samples than max_samples are spread over the lanes that there are. Allocates nothing.
  GradientResult compute(const GradientJob& job);

 private:
  struct alignas(kCacheLine) Lane {
    AlignedVector<float> grads;    // [P]
    std::array<LossSums, 2> sums;  // of each side, or of both in the first
  };
  // Each thread turns the weights for itself: it has read them for the forward pass, and another
  // core's copy would come line by line from that core's cache.
  struct alignas(kCacheLine) Scratch {
    TileBatch<float> batch;
    TileWorkspace<float> work;
    AlignedVector<float> transposed;              // [P]
    std::array<std::int64_t, 2> transposed_of{};  // version of the parameters, of each side
  };

  void choose_sides();
  void run_lane(const GradientJob& job, int lane, int side, Scratch& scratch);
  void refresh_transposed(const GradientJob& job, int side, Scratch& scratch);
  static void gather(const GradientJob& job, int begin, NetworkSide side, TileBatch<float>& batch);
  bool each_thread_has_a_side() const;
  void add_up_side(int side);
  // Adds a chunk of all lanes into the first, and squares it.
  void add_up(int chunk);

  const ActorCritic& network_;
  const PpoCoefficients loss_;
  ThreadPool& pool_;
  std::span<const NetworkSide> sides_;  // learnt_sides()
  std::vector<ParameterRange> chunks_;  // parameter_chunks()
  int policy_chunks_;                   // the first of them, where the sides are apart
  std::vector<double> squares_;         // of the gradient, of each chunk
  std::vector<Lane> lanes_;
  std::vector<Scratch> scratch_;  // [threads]
  int used_lanes_ = 0;
  std::array<std::atomic<int>, 2> lanes_left_{};  // of each side, that are not made yet
};

}  // namespace broadloom
