// An update on a side (host_side.h, device_side.h): what MinibatchUpdate does, as launches of
// kernels in a fixed order. The host draws the permutations, and reads what is said of an update
// once, at its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "broadloom/algo/gradient_cut.h"
#include "broadloom/algo/minibatch_update.h"
#include "broadloom/algo/optimizer.h"
#include "broadloom/rollout/minibatches.h"
#include "cuda/gradient_kernel.h"
#include "cuda/step_kernels.h"

namespace broadloom::cuda {

// Of one minibatch step.
template <class Sums>
struct StepReport {
  Sums sums;
  double norm = 0.0;  // of the gradient, before clipping
};

// Loss: PpoKernelLoss or PqnKernelLoss (kernel_losses.h).
template <class Side, class Loss>
class DeviceUpdate {
 public:
  using Sums = typename Loss::Sums;
  using Report = StepReport<Sums>;

  // The network must fit_kernels(). normalise: advantages, minibatch by minibatch. All epochs are
  // carried out, at one learning rate. side must outlive this.
  DeviceUpdate(Side& side, const ActorCritic& network, const Loss& loss,
               const MinibatchSettings& settings, bool normalise, int batch_size,
               int minibatch_count)
      : side_(side),
        network_(device_network(network)),
        room_(network_),
        loss_(loss),
        settings_(settings),
        normalises_(normalise),
        minibatches_(batch_size, minibatch_count),
        batch_(static_cast<std::size_t>(batch_size)),
        steps_(static_cast<std::size_t>(settings.update_epochs) * minibatches_.count()) {
    const std::size_t parameters = network.parameter_count();
    const int most = partial_gradient_count(minibatches_.max_size(), parameters);
    for (float** array : {&params_, &m_, &v_}) *array = floats(parameters);
    partial_grads_ = floats(parameters * static_cast<std::size_t>(most));
    notes_ = static_cast<std::size_t>(most) * network_.sides();
    if (room_.spills) spill_ = floats(notes_ * room_.floats);
    sums_ = side_.template allocate<Sums>(steps_ * notes_);
    norms_ = side_.template allocate<double>(steps_);
    shifts_ = side_.template allocate<AdvantageShift>(steps_);
    indices_ = side_.template allocate<std::int32_t>(
        batch_ * static_cast<std::size_t>(settings.update_epochs));
    make_chunks(network);
  }

  float* params() { return params_; }  // [P], on the side
  void set_params(const float* from) {
    side_.copy_in(params_, from, static_cast<std::size_t>(network_.parameters));
  }

  // One update from a block with advantages. adam_steps: taken before it.
  std::vector<Report> update(const DeviceRollout& rollout, std::uint64_t seed,
                             std::int64_t iteration, double learning_rate,
                             std::int64_t adam_steps) {
    draw_minibatches(rollout, seed, iteration);
    std::size_t step = 0;
    for (int epoch = 0; epoch < settings_.update_epochs; ++epoch) {
      for (int m = 0; m < minibatches_.count(); ++m, ++step) {
        const int partials = gradient(rollout, epoch, m, step);
        const AdamFactors factors(optimizer_step(settings_.optimizer, learning_rate,
                                                 settings_.adam_eps,
                                                 adam_steps + static_cast<std::int64_t>(step) + 1));
        take_step(factors, partials, step);
      }
    }
    return reports();
  }

 private:
  float* floats(std::size_t count) { return side_.template allocate<float>(count); }

  void make_chunks(const ActorCritic& network) {
    std::vector<DeviceChunk> chunks;
    for (const ParameterRange& range : parameter_chunks(network, NetworkSide::kBoth)) {
      chunks.push_back({static_cast<int>(range.begin), static_cast<int>(range.end)});
    }
    chunk_count_ = static_cast<int>(chunks.size());
    DeviceChunk* const kept = side_.template allocate<DeviceChunk>(chunks.size());
    side_.copy_in(kept, chunks.data(), chunks.size());
    chunks_ = kept;
    squares_ = side_.template allocate<double>(chunks.size());
  }

  void draw_minibatches(const DeviceRollout& rollout, std::uint64_t seed, std::int64_t iteration) {
    for (int epoch = 0; epoch < settings_.update_epochs; ++epoch) {
      minibatches_.shuffle(seed, iteration, epoch);
      side_.copy_in(indices_ + batch_ * static_cast<std::size_t>(epoch), minibatches_.indices(0),
                    batch_);
    }
    if (!normalises_) {
      const std::vector<AdvantageShift> none(steps_);
      return side_.copy_in(shifts_, none.data(), steps_);
    }
    side_.run(ShiftKernel{rollout.advantages, indices_, static_cast<int>(batch_),
                          minibatches_.count(), shifts_},
              ShiftKernel::shape(static_cast<int>(steps_)));
  }

  // Partial gradients that it was made in.
  int gradient(const DeviceRollout& rollout, int epoch, int m, std::size_t step) {
    const int samples = minibatches_.size(m);
    const int partials =
        partial_gradient_count(samples, static_cast<std::size_t>(network_.parameters));
    const std::int32_t* const indices =
        indices_ + batch_ * static_cast<std::size_t>(epoch) + minibatches_.begin(m);
    side_.run(GradientKernel<Loss>{network_,
                                   params_,
                                   rollout,
                                   loss_,
                                   {indices, shifts_ + step, samples, partials, partial_grads_,
                                    sums_ + step * notes_, spill_},
                                   room_.floats},
              GradientKernel<Loss>::shape(network_, partials));
    return partials;
  }

  void take_step(const AdamFactors& factors, int partials, std::size_t step) {
    side_.run(ReduceKernel{partial_grads_, partials, network_.parameters, chunks_, squares_},
              ReduceKernel::shape(chunk_count_));
    side_.run(AdamKernel{factors, settings_.max_grad_norm, squares_, chunk_count_,
                         network_.parameters, partial_grads_, params_, m_, v_, norms_ + step},
              shape_for_rows(network_.parameters));
  }

  std::vector<Report> reports() {
    std::vector<Sums> sums(steps_ * notes_);
    std::vector<double> norms(steps_);
    side_.copy_out(sums.data(), sums_, sums.size());
    side_.copy_out(norms.data(), norms_, steps_);
    std::vector<Report> reports(steps_);
    for (std::size_t step = 0; step < steps_; ++step) {
      const int m = static_cast<int>(step) % minibatches_.count();
      const int used = partial_gradient_count(minibatches_.size(m),
                                              static_cast<std::size_t>(network_.parameters));
      for (int i = 0; i < network_.sides() * used; ++i) {
        reports[step].sums.add(sums[step * notes_ + static_cast<std::size_t>(i)]);
      }
      reports[step].norm = norms[step];
    }
    return reports;
  }

  Side& side_;
  DeviceNetwork network_;
  GradientRoom room_;
  Loss loss_;
  MinibatchSettings settings_;
  bool normalises_;
  Minibatches minibatches_;
  std::size_t batch_, steps_;  // B, and minibatch steps of an update
  std::size_t notes_ = 0;      // most partial gradients of a step, of all sides
  float *params_ = nullptr, *m_ = nullptr, *v_ = nullptr;
  float *partial_grads_ = nullptr, *spill_ = nullptr;
  Sums* sums_ = nullptr;
  double *norms_ = nullptr, *squares_ = nullptr;
  AdvantageShift* shifts_ = nullptr;
  std::int32_t* indices_ = nullptr;
  const DeviceChunk* chunks_ = nullptr;
  int chunk_count_ = 0;
};

}  // namespace broadloom::cuda
