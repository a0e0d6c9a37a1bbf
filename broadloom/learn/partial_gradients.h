// The gradient of a loss over any samples of a block, on all threads, with the same bits for any
// number of them. partial_gradients-inl.h has the bodies.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/ranks.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/learn/gradient_cut.h"
#include "broadloom/learn/rank_sums.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// What a gradient is of.
template <class Loss>
struct GradientJob {
  const RolloutBlock& block;
  const std::int32_t* indices;  // [samples] into the block
  int samples;
  typename Loss::Context context;
  const float* params;   // [P]
  std::int64_t version;  // of params: another one whenever they are others
};

// Of the mean loss over the samples. The view holds until the next one is worked out.
template <class Loss>
struct GradientResult {
  std::span<const float> gradient;  // [P]
  double norm = 0.0;
  typename Loss::Sums sums;
};

// Tiles of samples add their gradients into partial gradients, and those are added into the first
// in a fixed tree. Where the network's sides are apart and there are threads for it, each is two
// tasks, one a side: then each core keeps to one side's parameters, and hardly needs what is in the
// other's cache.
//
// With several ranks each makes a run of the partial gradients (RankRuns), and all get the whole
// gradient, with the same bits.
//
// Loss is a value of type
//   Tile     up to kTileRows samples, from make_tile(network, D, A); bytes() is what it holds
//   Sums     what is said of samples beside their gradient: add(other); plain data, of which what
//            is made without samples changes nothing
//   Context  what all samples of a minibatch share
//   gather(block, indices, rows, context, side, tile)  what a side needs of some samples, [rows]
//   add_gradient(network, samples, params, transposed, tile, work, grads, sums, side)
//            adds the tile's share of the gradient of the mean over `samples` to grads [P], and its
//            sums; both sides one after the other give the bits of kBoth.
// ppo_loss.h shows one.
template <class Loss>
class PartialGradients {
 public:
  // ranks: that hold the same blocks, parameters and indices.
  PartialGradients(const ActorCritic& network, const Loss& loss, int max_samples,
                   int observation_size, int action_size, ThreadPool& pool,
                   Ranks& ranks = Ranks::alone());
  // What one takes, in bytes, where there is one rank; with more, less.
  static std::size_t bytes(const ActorCritic& network, int max_samples, int observation_size,
                           int action_size, int threads);

  Loss& loss() { return loss_; }

  // All parameters, in the chunks that threads share them by.
  std::span<const ParameterRange> chunks() const { return chunks_; }

  // More samples than max_samples are spread over the partial gradients that there are. Allocates
  // nothing. Where ranks.status() has failed after it, the result has no meaning.
  GradientResult<Loss> compute(const GradientJob<Loss>& job);

 private:
  struct alignas(kCacheLine) Partial {
    AlignedVector<float> grads;               // [P]
    std::array<typename Loss::Sums, 2> sums;  // of each side, or of both in the first
  };
  // Each thread turns the weights for itself: it has read them for the forward pass, and another
  // core's copy would come line by line from that core's cache.
  struct alignas(kCacheLine) Scratch {
    typename Loss::Tile tile;
    TileWorkspace<float> work;
    AlignedVector<float> transposed;              // [P]
    std::array<std::int64_t, 2> transposed_of{};  // version of the parameters, of each side
  };

  void choose_sides();
  // place: of partials_.
  void run_partial(const GradientJob<Loss>& job, int place, int side, Scratch& scratch);
  void refresh_transposed(const GradientJob<Loss>& job, int side, Scratch& scratch);
  bool each_thread_has_a_side() const;
  void add_up_side(int side);
  // Adds a chunk of all partial gradients of this rank into the first, and squares it where that
  // is the whole sum.
  void add_up(int chunk);
  void square(int chunk);
  void add_ranks();
  int own() const { return runs_.end(ranks_.rank()) - runs_.begin(ranks_.rank()); }
  GradientResult<Loss> result() const;

  const ActorCritic& network_;
  Loss loss_;
  ThreadPool& pool_;
  Ranks& ranks_;
  std::span<const NetworkSide> sides_;  // learnt_sides()
  std::vector<ParameterRange> chunks_;  // parameter_chunks()
  int policy_chunks_;                   // the first of them, where the sides are apart
  std::vector<double> squares_;         // of the gradient, of each chunk
  int most_;                            // partial gradients that there may be
  RankRuns runs_;                       // of those that are used
  std::vector<Partial> partials_;       // this rank's run, or as many as it may have
  std::vector<typename Loss::Sums>
      notes_;  // [partial gradients, 2] of all ranks, if there are more
  RankSums rank_sums_;
  std::vector<Scratch> scratch_;            // [threads]
  std::array<std::atomic<int>, 2> left_{};  // of them, of each side, that are not made yet
};

}  // namespace broadloom
