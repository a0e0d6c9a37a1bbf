// A loss's gradient over a minibatch on a side (cuda/sides). It has the bits of PartialGradients
// (learn/partial_gradients-inl.h), except where tensor cores round.
//
// The steps are derivatives of all layers' outputs, weight derivatives in as many partial gradients
// as on the host, and their sum.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "broadloom/learn/gradient_cut.h"
#include "broadloom/nn/actor_critic.h"
#include "cuda/learn/delta_kernel.h"
#include "cuda/learn/delta_phases.h"
#include "cuda/learn/product_phase.h"
#include "cuda/learn/rank_gradient.h"
#include "cuda/learn/step_kernels.h"
#include "cuda/learn/tensor_delta_kernel.h"
#include "cuda/learn/tensor_weights_kernel.h"
#include "cuda/learn/weights_jobs.h"
#include "cuda/learn/weights_kernel.h"

namespace broadloom::cuda {

// Number of samples and of partial gradients.
struct GradientSize {
  int samples, partials;
};

// A network as a loss's kernels see it.
template <class Loss>
DeviceNetwork learning_network(const ActorCritic& network, const Loss& loss) {
  DeviceNetwork made = device_network(network);
  made.kept = loss.kept();
  return made;
}

template <class Side, class Loss>
class DeviceGradient {
 public:
  using Sums = typename Loss::Sums;

  // loss: keeps as many numbers as those of run(). sizes: of all gradients that run() will be asked
  // for. side must outlive this object. With tensor cores, shared memory must fit eight rows
  // (TensorTile). ranks: each computes a run of the partial gradients, and all get the whole
  // gradient.
  DeviceGradient(Side& side, const ActorCritic& network, const Loss& loss,
                 const std::vector<GradientSize>& sizes, Ranks& ranks = Ranks::alone())
      : side_(side),
        network_(learning_network(network, loss)),
        shape_(side.shape()),
        room_(delta_room(network_, shape_.shared_bytes)),
        ranks_(side, ranks, network.parameter_count()) {
    make_arrays(sizes);
    make_jobs(network);
  }

  // rollout: with advantages. indices [samples] into it and shift are on the side. shift is null if
  // the loss needs none. sums [partials, sides] receive the loss sums.
  void run(const DeviceRollout& rollout, const Loss& loss, const float* params,
           const std::int32_t* indices, const AdvantageShift* shift, const GradientSize& size,
           Sums* sums) {
    const RankRuns runs = ranks_.runs(size.partials);
    const int first = runs.begin(ranks_.rank()), own = own_partials(size);
    GradientWork<Sums> work{network_,
                            params,
                            transposed_,
                            arrays_,
                            floats_,
                            log_std_,
                            tile_sums_,
                            terms_,
                            grads_,
                            sums + static_cast<std::ptrdiff_t>(first) * network_.sides(),
                            images_,
                            group_rows(size),
                            {size.samples, size.partials, first, own, 0, rows_of(size)},
                            {}};
    for (int side = 0; side < network_.sides(); ++side) {
      work.places[side] =
          TilePlaces(network_.body(side), work.rows.all(), TilePlaces::kForwardAndBack);
    }
    const int end = own > 0 ? most_rows(size) : 0;
    for (int& begin = work.rows.begin; begin < end; begin += work.rows.most) {
      make_deltas({work, rollout, loss, indices, shift});
      learn_weights({{work, jobs_}}, own);
    }
    reduce(own);
    if (ranks_.is_alone()) return;
    ranks_.add_up(runs, network_.sides(), grads_, sums);
    reduce(1);  // for the squares of the whole gradient
  }

  // The last gradient [P] and its length, on the side.
  const float* gradient() const { return grads_; }
  GradientLength length() const { return {squares_, chunk_count_}; }
  // The policy's chunks, which come first; for networks of two sides.
  int policy_chunks() const { return policy_chunks_; }

 private:
  static constexpr std::size_t kMostFloats = std::size_t{1} << 29;

  int own_partials(const GradientSize& size) const {
    const RankRuns runs = ranks_.runs(size.partials);
    return runs.end(ranks_.rank()) - runs.begin(ranks_.rank());
  }
  // Adds up `partials` partial gradients.
  void reduce(int partials) {
    side_.run(ReduceKernel{grads_, partials, network_.parameters, chunks_, squares_},
              ReduceKernel::shape(chunk_count_));
  }
  // Rows of the largest partial gradient.
  static int most_rows(const GradientSize& size) {
    const int tiles = tile_count(size.samples);
    return (tiles + size.partials - 1) / size.partials * kTileRows;
  }
  // Rows of a partial gradient in one pass. More rows take several passes. With tensor cores, bits
  // depend on it, so it is the same for any number of ranks.
  int rows_of(const GradientSize& size) const {
    const std::size_t of_tile = GradientWork<Sums>::floats_for(network_, kTileRows);
    const int fit = static_cast<int>(std::min<std::size_t>(
        kMostFloats / of_tile, static_cast<std::size_t>(shape_.rows / kTileRows)));
    return std::min(most_rows(size), std::max(1, fit / size.partials) * kTileRows);
  }

  void make_arrays(const std::vector<GradientSize>& sizes) {
    int partials = 1, rows = 0, most_groups = 0;
    for (const GradientSize& size : sizes) {
      const int own = own_partials(size), of_size = own * rows_of(size);
      partials = std::max(partials, own);
      rows = std::max(rows, of_size);
      most_groups = std::max(most_groups, of_size / group_rows(size));
    }
    const std::size_t parameters = static_cast<std::size_t>(network_.parameters);
    const std::size_t groups = static_cast<std::size_t>(most_groups);
    const std::size_t sides = static_cast<std::size_t>(network_.sides());
    const auto floats = [&](std::size_t count) { return side_.template allocate<float>(count); };
    floats_ = GradientWork<Sums>::floats_for(network_, rows);
    arrays_ = floats(sides * floats_);
    if (network_.is_rounded()) {
      const int of_image = GradientWork<Sums>::image_floats(network_.body(0));
      images_ = floats(groups * sides * static_cast<std::size_t>(of_image));
    } else if (room_.spills) {
      transposed_ = floats(parameters);
      terms_ = side_.template allocate<double>(groups * sides * TileTerms::kCount);
    }
    log_std_ = floats(groups * static_cast<std::size_t>(network_.outputs));
    tile_sums_ = side_.template allocate<Sums>(groups * sides);
    grads_ = floats(parameters * static_cast<std::size_t>(partials));
  }

  void make_jobs(const ActorCritic& network) {
    const std::vector<WeightsJob> jobs = weights_jobs(network_);
    std::vector<DeviceChunk> chunks;
    for (const ParameterRange& range : parameter_chunks(network, NetworkSide::kBoth)) {
      chunks.push_back({static_cast<int>(range.begin), static_cast<int>(range.end)});
    }
    job_count_ = static_cast<int>(jobs.size());
    jobs_ = put_on(side_, jobs.data(), jobs.size());
    chunk_count_ = static_cast<int>(chunks.size());
    policy_chunks_ = static_cast<int>(parameter_chunks(network, NetworkSide::kPolicy).size());
    chunks_ = put_on(side_, chunks.data(), chunks.size());
    squares_ = side_.template allocate<double>(chunks.size());
  }

  // Rows covered by one entry of the per-row notes.
  int group_rows(const GradientSize& size) const {
    return network_.is_rounded() ? tensor_tile(size.samples).rows : kTileRows;
  }
  // A small minibatch uses half as many rows per block, so that more multiprocessors are busy.
  TensorTile tensor_tile(int samples) const {
    constexpr int kFew = 1024;
    return TensorTile::fit(network_, shape_.shared_bytes,
                           samples > kFew ? 2 * kTensorRows : kTensorRows);
  }

  void make_deltas(const LossWork<Loss>& loss_work) {
    const int tiles = loss_work.work.rows.tiles(), processors = shape_.multiprocessors;
    if constexpr (Loss::kMayRound) {
      if (network_.is_rounded()) {
        const TensorTile tile = tensor_tile(loss_work.work.rows.samples);
        const auto kernel = TensorDeltaKernel<Loss>::make(loss_work, tile);
        return side_.run(kernel, kernel.shape(tile));
      }
    }
    if (!room_.spills) {
      DeltaKernel<Loss> kernel{loss_work, {}};
      for (int side = 0; side < network_.sides(); ++side) {
        kernel.places[side] =
            TilePlaces(network_.body(side), kTileRows, TilePlaces::kForwardAndBack);
      }
      return side_.run(kernel, DeltaKernel<Loss>::shape(network_, room_, tiles, processors));
    }
    const RowsPhase<Loss> rows = RowsPhase<Loss>::make(loss_work, processors);
    side_.run(rows, rows.shape(processors));
    residual(loss_work.work, false);
    const int layers = std::max(network_.actor.layers, network_.valuer().layers);
    for (int l = network_.actor.begins_with_image() ? 1 : 0; l < layers; ++l) {
      layer(loss_work.work, l, false);
      norm(loss_work.work, l, false);
    }
    side_.run(LossPhase<Loss>{loss_work}, LossPhase<Loss>::shape(network_, tiles));
    side_.run(SumsPhase<Loss>{loss_work}, SumsPhase<Loss>::shape(network_, tiles));
    for (int l = layers - 1; l >= 0; --l) {
      norm(loss_work.work, l, true);
      if (l > 0 || network_.actor.residual.are_there()) layer(loss_work.work, l, true);
    }
    residual(loss_work.work, true);
  }
  void learn_weights(const WeightsKernel<Sums>& kernel, int partials) {
    if constexpr (Loss::kMayRound) {
      if (network_.is_rounded()) {
        return side_.run(TensorWeightsKernel<Sums>{kernel},
                         TensorWeightsKernel<Sums>::shape(job_count_, partials));
      }
    }
    side_.run(kernel, WeightsKernel<Sums>::shape(network_, job_count_, partials));
  }
  // Residual sections of both bodies, which have the same ones.
  void residual(const GradientWork<Sums>& work, bool goes_back) {
    const int steps = network_.actor.residual.count * ResidualSection::kSteps;
    for (int i = 0; i < steps; ++i) {
      const int at_hand = goes_back ? steps - 1 - i : i;
      side_.run(ResidualPhase<Sums>{work, at_hand / ResidualSection::kSteps,
                                    at_hand % ResidualSection::kSteps, goes_back},
                KernelShape{2 * shape_.multiprocessors, ResidualPhase<Sums>::kThreads, 0});
    }
  }
  void norm(const GradientWork<Sums>& work, int l, bool goes_back) {
    using Phase = NormPhase<Sums>;
    if (!Phase::is_for(network_.actor, l, goes_back) &&
        !Phase::is_for(network_.valuer(), l, goes_back)) {
      return;
    }
    side_.run(Phase{work, l, goes_back},
              KernelShape{2 * shape_.multiprocessors, Phase::kThreads, 0});
  }
  // Bodies begin with the same convolutions, so layer l of both is one, or of neither.
  void layer(const GradientWork<Sums>& work, int l, bool goes_back) {
    const DeviceBody& first = network_.body(0);
    if (l >= first.layers || first.hidden[l].is_dense()) return product(work, l, goes_back);
    using Phase = ConvolutionPhase<Sums>;
    side_.run(Phase{work, l, goes_back},
              KernelShape{2 * shape_.multiprocessors, Phase::kThreads, 0});
  }
  // Uses the largest pieces of which there are enough for the multiprocessors.
  void product(const GradientWork<Sums>& work, int l, bool goes_back) {
    if (product_in<128, 4>(work, l, goes_back, shape_.multiprocessors)) return;
    // The shared-memory reads of its eight warps bound a block of these. A block with a quarter of
    // the rows has two warps, but loads as many weights. It pays if half of the device would be
    // idle.
    if (product_in<32, 1>(work, l, goes_back, shape_.multiprocessors / 2)) return;
    product_in<8, 1>(work, l, goes_back, 1);
  }
  // Launches only if there are at least `least` pieces of kRows rows.
  template <int kRows, int kEach>
  bool product_in(const GradientWork<Sums>& work, int l, bool goes_back, int least) {
    using Phase = ProductPhase<Sums, kRows, kEach>;
    const auto width = [&](const DeviceBody& body) {
      return goes_back ? body.hidden[l].in : body.hidden[l].out;
    };
    const int columns = std::max(width(network_.actor), width(network_.valuer()));
    const int rows = work.rows.all();
    if (Phase::tiles(rows, columns) < least) return false;
    side_.run(Phase{work, l, goes_back}, Phase::shape(network_, rows, columns));
    return true;
  }

  Side& side_;
  DeviceNetwork network_;
  SideShape shape_;
  TileRoom room_;
  RankGradient<Side> ranks_;
  std::size_t floats_ = 0;
  float* images_ = nullptr;
  float *arrays_ = nullptr, *transposed_ = nullptr, *log_std_ = nullptr, *grads_ = nullptr;
  Sums* tile_sums_ = nullptr;
  double* terms_ = nullptr;
  const WeightsJob* jobs_ = nullptr;
  const DeviceChunk* chunks_ = nullptr;
  double* squares_ = nullptr;
  int job_count_ = 0, chunk_count_ = 0, policy_chunks_ = 0;
};

}  // namespace broadloom::cuda
