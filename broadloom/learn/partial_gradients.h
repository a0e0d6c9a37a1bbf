// The gradient of a loss over any samples of a block, computed by all threads. The bits do not
// depend on the number of threads. Definitions are in partial_gradients-inl.h.
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

// Inputs of a gradient.
template <class Loss>
struct GradientJob {
  const RolloutBlock& block;
  const std::int32_t* indices;  // [samples] into the block
  int samples;
  typename Loss::Context context;
  const float* params;   // [P]
  std::int64_t version;  // changes whenever params change
};

// Gradient of the mean loss over the samples. The view is valid until the next compute().
template <class Loss>
struct GradientResult {
  std::span<const float> gradient;  // [P]
  double norm = 0.0;
  std::array<double, 2> side_norms{};  // of policy and critic, if their sides are apart
  typename Loss::Sums sums;
};

// Tiles of samples add their gradients to partial gradients, which are added up in a fixed tree.
// With separate network sides and several threads, each partial gradient is two tasks, one per
// side. Then each core uses one side's parameters and rarely reads another core's cache.
//
// With several ranks, each computes a run of the partial gradients (RankRuns), and all get the
// whole gradient with the same bits.
//
// Loss is a value of type
//   Tile     up to kTileRows samples, from make_tile(network, D, A); bytes() is its memory
//   Sums     other sums over samples: add(other); plain data; adding a default one changes nothing
//   Context  values that all samples of a minibatch share
//   gather(block, indices, rows, context, side, tile)  gathers what a side needs of [rows] samples
//   add_gradient(network, samples, params, transposed, tile, work, grads, sums, side)
//            adds the tile's share of the gradient of the mean over `samples` to grads [P], and its
//            sums; both sides in turn give the bits of kBoth.
// ppo_loss.h has an example.
//
// With a recurrent network, the unit of work is not a tile but a group of sequences
// (sequences_per_tile()), whose rows `indices` lists step by step, as Minibatches does. If it takes
// several tiles, it goes forward through them once, to keep the states between them, and then
// through the tiles from last to first: each forward again, with the same bits, and backward. The
// sequences' first states are constants. Loss::Tile then has input(), as NetworkInput.
template <class Loss>
class PartialGradients {
 public:
  // ranks: processes that hold the same blocks, parameters and indices.
  PartialGradients(const ActorCritic& network, const Loss& loss, int max_samples,
                   int observation_size, int action_size, ThreadPool& pool,
                   Ranks& ranks = Ranks::alone());
  // Memory of one with a single rank, bytes; less with more ranks.
  static std::size_t bytes(const ActorCritic& network, int max_samples, int observation_size,
                           int action_size, int threads);

  Loss& loss() { return loss_; }

  // All parameters, divided into chunks for threads.
  std::span<const ParameterRange> chunks() const { return chunks_; }
  // The chunks of one side, if the sides are apart: 0 for the policy, 1 for the critic.
  std::span<const ParameterRange> side_chunks(std::size_t side) const {
    const auto policy = static_cast<std::size_t>(policy_chunks_);
    return side == 0 ? chunks().first(policy) : chunks().subspan(policy);
  }

  // More than max_samples samples are spread over the existing partial gradients. Allocates
  // nothing. If ranks.status() fails afterwards, the result is meaningless.
  GradientResult<Loss> compute(const GradientJob<Loss>& job);

 private:
  struct alignas(kCacheLine) Partial {
    AlignedVector<float> grads;               // [P]
    std::array<typename Loss::Sums, 2> sums;  // per side, or of both in the first
  };
  // Each thread transposes the weights for itself: they are in its cache after the forward pass,
  // and another core's copy would have to come from that core's cache.
  struct alignas(kCacheLine) Scratch {
    typename Loss::Tile tile;
    TileWorkspace<float> work;
    AlignedVector<float> transposed;                   // [P]
    std::array<std::int64_t, 2> transposed_version{};  // parameter version, per side
    AlignedVector<float> between;  // [tiles, S] states before the tiles of a group, or empty
  };

  void choose_sides();
  // place: index into partials_.
  void run_partial(const GradientJob<Loss>& job, int place, int side, Scratch& scratch);
  // Adds the gradient of a group of sequences, whose rows begin at `indices`.
  void run_sequences(const GradientJob<Loss>& job, const std::int32_t* indices, int sequences,
                     NetworkSide side, Scratch& scratch, float* grads, typename Loss::Sums& sums);
  void gather_steps(const GradientJob<Loss>& job, const std::int32_t* indices, int sequences,
                    int steps, NetworkSide side, Scratch& scratch);
  void reserve_states(const GradientJob<Loss>& job);
  int units_of(const GradientJob<Loss>& job) const;
  int unit_rows(const GradientJob<Loss>& job) const;
  void refresh_transposed(const GradientJob<Loss>& job, int side, Scratch& scratch);
  bool each_thread_has_a_side() const;
  void add_up_side(int side);
  // Adds a chunk of all this rank's partial gradients into the first. With one rank, it then sums
  // the chunk's squares.
  void add_up(int chunk);
  void square(int chunk);
  void add_ranks();
  int own_partials() const { return runs_.end(ranks_.rank()) - runs_.begin(ranks_.rank()); }
  GradientResult<Loss> result() const;

  const ActorCritic& network_;
  Loss loss_;
  ThreadPool& pool_;
  Ranks& ranks_;
  std::span<const NetworkSide> sides_;      // learnt_sides()
  std::vector<ParameterRange> chunks_;      // parameter_chunks()
  int policy_chunks_;                       // number of the policy's chunks, which come first
  std::vector<double> squares_;             // [chunks] sums of squares
  int max_partials_;                        // allocated partial gradients of all ranks
  RankRuns runs_;                           // runs of the used partial gradients
  std::vector<Partial> partials_;           // the longest run this rank may have
  std::vector<typename Loss::Sums> notes_;  // [partial gradients, 2] of all ranks; 1 rank: empty
  RankSums rank_sums_;
  std::vector<Scratch> scratch_;            // [threads]
  std::array<std::atomic<int>, 2> left_{};  // unfinished partial gradients per side
};

}  // namespace broadloom
