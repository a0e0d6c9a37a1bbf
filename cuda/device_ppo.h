// PPO's update on a side (host_side.h, device_side.h): what Ppo and MinibatchUpdate do, as launches
// of kernels in a fixed order. The host draws the permutations, and reads what is said of an update
// once, at its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "broadloom/algo/gradient_cut.h"
#include "broadloom/algo/optimizer.h"
#include "broadloom/algorithms/ppo.h"
#include "broadloom/rollout/minibatches.h"
#include "cuda/gradient_kernel.h"
#include "cuda/step_kernels.h"

namespace broadloom::cuda {

// Of one minibatch step.
struct StepReport {
  PpoSums sums;
  double norm = 0.0;  // of the gradient, before clipping
};

template <class Side>
class DevicePpo {
 public:
  // The network must fit_kernels(). Of the settings there are not: norm_adv = batch, target_kl,
  // adaptive_lr and schedules. side must outlive this.
  DevicePpo(Side& side, const ActorCritic& network, const PpoSettings& settings, int batch_size,
            int minibatch_count)
      : side_(side),
        network_(device_network(network)),
        settings_(settings),
        minibatches_(batch_size, minibatch_count),
        batch_(static_cast<std::size_t>(batch_size)),
        steps_(static_cast<std::size_t>(settings.update_epochs) * minibatches_.count()) {
    const std::size_t parameters = network.parameter_count();
    const int most = partial_gradient_count(minibatches_.max_size(), parameters);
    for (float** array : {&params_, &m_, &v_}) *array = floats(parameters);
    partial_grads_ = floats(parameters * static_cast<std::size_t>(most));
    if (GradientKernel::spills(network_)) {
      spill_ = floats(2 * static_cast<std::size_t>(most) * GradientKernel::work_size(network_));
    }
    partials_ = static_cast<std::size_t>(most);
    sums_ = side_.template allocate<PpoSums>(steps_ * partials_ * 2);
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
  std::vector<StepReport> update(const DeviceRollout& rollout, std::uint64_t seed,
                                 std::int64_t iteration, double learning_rate,
                                 std::int64_t adam_steps) {
    draw_minibatches(rollout, seed, iteration);
    std::size_t step = 0;
    for (int epoch = 0; epoch < settings_.update_epochs; ++epoch) {
      for (int m = 0; m < minibatches_.count(); ++m, ++step) {
        const int partials = gradient(rollout, epoch, m, step);
        const AdamFactors factors(optimizer_step(Optimizer::kAdam, learning_rate,
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
    if (settings_.norm_adv == AdvantageNorm::kOff) {
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
    side_.run(GradientKernel{network_,
                             params_,
                             rollout,
                             settings_.loss,
                             {indices, shifts_ + step, samples, partials, partial_grads_,
                              sums_ + step * partials_ * 2, spill_}},
              GradientKernel::shape(network_, partials));
    return partials;
  }

  void take_step(const AdamFactors& factors, int partials, std::size_t step) {
    side_.run(ReduceKernel{partial_grads_, partials, network_.parameters, chunks_, squares_},
              ReduceKernel::shape(chunk_count_));
    side_.run(AdamKernel{factors, settings_.max_grad_norm, squares_, chunk_count_,
                         network_.parameters, partial_grads_, params_, m_, v_, norms_ + step},
              shape_for_rows(network_.parameters));
  }

  std::vector<StepReport> reports() {
    std::vector<PpoSums> sums(steps_ * partials_ * 2);
    std::vector<double> norms(steps_);
    side_.copy_out(sums.data(), sums_, sums.size());
    side_.copy_out(norms.data(), norms_, steps_);
    std::vector<StepReport> reports(steps_);
    for (std::size_t step = 0; step < steps_; ++step) {
      const int m = static_cast<int>(step) % minibatches_.count();
      const int used = partial_gradient_count(minibatches_.size(m),
                                              static_cast<std::size_t>(network_.parameters));
      for (int i = 0; i < 2 * used; ++i) {
        reports[step].sums.add(sums[step * partials_ * 2 + static_cast<std::size_t>(i)]);
      }
      reports[step].norm = norms[step];
    }
    return reports;
  }

  Side& side_;
  DeviceNetwork network_;
  PpoSettings settings_;
  Minibatches minibatches_;
  std::size_t batch_, steps_;  // B, and minibatch steps of an update
  std::size_t partials_ = 0;   // most partial gradients of a step
  float *params_ = nullptr, *m_ = nullptr, *v_ = nullptr;
  float *partial_grads_ = nullptr, *spill_ = nullptr;
  PpoSums* sums_ = nullptr;
  double *norms_ = nullptr, *squares_ = nullptr;
  AdvantageShift* shifts_ = nullptr;
  std::int32_t* indices_ = nullptr;
  const DeviceChunk* chunks_ = nullptr;
  int chunk_count_ = 0;
};

}  // namespace broadloom::cuda
