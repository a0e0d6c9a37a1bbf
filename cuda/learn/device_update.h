// An update on a side (cuda/sides): MinibatchUpdate as kernel launches in a fixed order. The host
// draws the permutations, and reads the sums of an update once, at its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "broadloom/learn/gradient_cut.h"
#include "broadloom/learn/minibatch_update.h"
#include "broadloom/learn/optimizer.h"
#include "broadloom/learn/ppo.h"
#include "broadloom/rollout/minibatches.h"
#include "cuda/learn/device_gradient.h"
#include "cuda/learn/device_parameters.h"
#include "cuda/learn/device_rnd.h"
#include "cuda/learn/permutations_ahead.h"
#include "cuda/learn/step_kernels.h"

namespace broadloom::cuda {

// Sums and norms of one minibatch step.
template <class Sums>
struct StepReport {
  Sums sums;
  GradientNorms norms;
};

// The sums of a step, and the number of its samples.
template <class Sums>
struct StepSums {
  Sums sums;
  int samples;
};

// Observes an update: the whole block before the first step, and every minibatch before its step.
// Costs the copies and the waits for them.
template <class Sums>
class StepWatcher {
 public:
  virtual void on_batch(const StepReport<Sums>& batch, std::span<const float> gradient) = 0;
  virtual void on_step(int epoch, int minibatch, const StepReport<Sums>& step,
                       std::span<const float> gradient) = 0;

 protected:
  ~StepWatcher() = default;
};

// Decisions between the steps of an update, based on its sums. Each decision costs a wait.
template <class Sums>
class StepRules {
 public:
  virtual ~StepRules() = default;
  // Before each step: its learning rate.
  virtual bool looks_at_steps() const { return false; }
  virtual double rate(const StepSums<Sums>& /*step*/, double before) const { return before; }
  // After each epoch: may set the learning rate. Whether another epoch may follow.
  virtual bool looks_at_epochs() const { return false; }
  virtual bool goes_on(std::span<const StepSums<Sums>> /*epoch*/, double& /*rate*/) const {
    return true;
  }
  bool decide() const { return looks_at_steps() || looks_at_epochs(); }
};

// Loss: PpoKernelLoss or PqnKernelLoss (kernel_losses.h).
template <class Side, class Loss>
class DeviceUpdate {
 public:
  using Sums = typename Loss::Sums;
  using Report = StepReport<Sums>;
  using Watcher = StepWatcher<Sums>;
  using Rules = StepRules<Sums>;

  // The network must fit_kernels(). norm: of advantages. cuts: all cuts of blocks, the initial one
  // first. ranks: see DeviceGradient. side and ranks must outlive this object.
  DeviceUpdate(Side& side, const ActorCritic& network, const Loss& loss,
               const MinibatchSettings& settings, AdvantageNorm norm,
               const std::vector<MinibatchCut>& cuts, Ranks& ranks = Ranks::alone())
      : side_(side),
        ranks_(ranks),
        network_(device_network(network)),
        loss_(loss),
        settings_(settings),
        norm_(norm),
        permutations_(settings.shuffle, settings.update_epochs),
        learnt_(side, network_),
        gradient_(side, network, loss, room_for(cuts).sizes, ranks) {
    make_arrays(room_for(cuts));
  }

  // Sets how later blocks are cut.
  void reshape(const MinibatchCut& cut) {
    cut_ = cut;
    drawn_.reset();
    all_steps_ = {};
    batch_ = static_cast<std::size_t>(cut.samples);
    steps_ = static_cast<std::size_t>(settings_.update_epochs) * cut_.count();
    most_ = partial_gradient_count(cut_.max_size(), parameters());
    notes_ = static_cast<std::size_t>(most_) * network_.sides();
  }

  float* params() { return learnt_.on_side(); }  // [P]
  Loss& loss() { return loss_; }
  // Host arrays [P] of the network, followed by RND's parameters if there is RND.
  void set_params(const float* params) {
    each_learnt(
        [params](DeviceParameters<Side>& part, std::size_t begin) { part.set(params + begin); });
  }
  void set_moments(const float* m, const float* v) {
    each_learnt([m, v](DeviceParameters<Side>& part, std::size_t begin) {
      part.set_moments(m + begin, v + begin);
    });
  }
  void bring_moments(float* m, float* v) {
    each_learnt([m, v](DeviceParameters<Side>& part, std::size_t begin) {
      part.bring_moments(m + begin, v + begin);
    });
    side_.wait();
  }
  const MinibatchCut& minibatches() const { return cut_; }

  // A fault on the side: if it is set, nothing is learnt from the block.
  void set_fault(const std::uint64_t* fault) {
    fault_ = fault;
    all_steps_ = {};
  }
  // RND's predictor, trained in the same steps; null: none. It must outlive its use.
  void set_rnd(DeviceRnd<Side>* rnd) {
    rnd_ = rnd;
    all_steps_ = {};
  }

  // Draws the minibatches of an update, unless that was done. begin() also does this.
  void draw(std::uint64_t seed, std::int64_t iteration) {
    const std::pair wanted{seed, iteration};
    if (drawn_ == wanted) return;
    permutations_.draw(seed, iteration, cut_.samples, [&](std::span<const std::int32_t> all) {
      side_.copy_in(indices_, all.data(), all.size());
      if (rnd_ != nullptr) rnd_->draw(all, seed, iteration);
    });
    drawn_ = wanted;
  }

  // Starts an update from a block with advantages. learning_rate: of the first step. adam_steps:
  // number taken before the update. watcher: may be null; the update has the same bits with one.
  // With a watcher, or with rules that decide, it waits for each answer.
  void begin(const DeviceRollout& rollout, std::uint64_t seed, std::int64_t iteration,
             const Rules& rules, double learning_rate, std::int64_t adam_steps,
             Watcher* watcher = nullptr) {
    draw(seed, iteration);
    shift_minibatches(rollout);
    if (watcher != nullptr) show_batch(rollout, *watcher);
    learning_rate_ = learning_rate;
    adam_steps_ = adam_steps;
    set_factors(0, steps_);
    if (watcher == nullptr && !rules.decide()) {
      take_all_steps(rollout);
    } else {
      take_watched_steps(rollout, rules, watcher);
    }
  }

  // Waits for the update and returns a report of every step taken. params: receives them as
  // set_params() takes them. learning_rate: the rate that the rules have set.
  std::vector<Report> finish(float* params, double& learning_rate) {
    each_learnt(
        [params](DeviceParameters<Side>& part, std::size_t begin) { part.bring(params + begin); });
    if (rnd_ != nullptr) rnd_->bring_reports(taken_);
    learning_rate = learning_rate_;
    return reports(taken_);
  }

 private:
  std::size_t parameters() const { return learnt_.count(); }
  // Calls f(parameters, their offset in the host learner's arrays).
  template <class F>
  void each_learnt(F&& f) {
    f(learnt_, 0);
    if (rnd_ != nullptr) f(rnd_->parameters(), parameters());
  }

  // The inputs of all steps' launches. Constant arrays, cut, fault and RND are left out; functions
  // that set one of those reset all_steps_.
  struct StepsKey {
    DeviceRollout rollout;
    Loss loss;
  };

  static constexpr std::size_t kMostRepeated = 2048;  // steps of 4 to 20 launches or more

  // Without decisions in between: the same launches in every update.
  void take_all_steps(const DeviceRollout& rollout) {
    const auto launch = [&] {
      for (std::size_t step = 0; step < steps_; ++step) {
        make_gradients(rollout, step);
        take_step(step);
      }
    };
    // RND's number of samples differs from step to step, and ranks wait for each other between
    // launches. Very many launches are not worth the memory of a recording.
    if (rnd_ != nullptr || ranks_.size() > 1 || steps_ > kMostRepeated) {
      launch();
    } else {
      side_.repeat(all_steps_, StepsKey{rollout, loss_}, launch);
    }
    taken_ = steps_;
  }

  void take_watched_steps(const DeviceRollout& rollout, const Rules& rules, Watcher* watcher) {
    const std::size_t per_epoch = static_cast<std::size_t>(cut_.count());
    for (taken_ = 0; taken_ < steps_;) {
      const std::size_t step = taken_++;
      const int m = minibatch_of(step);
      make_gradients(rollout, step);
      if (watcher != nullptr) show_step(static_cast<int>(step / per_epoch), m, step, *watcher);
      if (rules.looks_at_steps()) {
        learning_rate_ = rules.rate(sums_of(step, 1)[0], learning_rate_);
        set_factors(step, 1);
      }
      take_step(step);
      if (!rules.looks_at_epochs() || taken_ % per_epoch != 0) continue;
      const double before = learning_rate_;
      if (!rules.goes_on(sums_of(taken_ - per_epoch, per_epoch), learning_rate_)) break;
      if (learning_rate_ != before) set_factors(taken_, steps_ - taken_);
    }
  }

  // Sets the factors of `count` steps starting at `first`, at the current learning rate.
  void set_factors(std::size_t first, std::size_t count) {
    std::vector<AdamFactors> factors;
    for (std::size_t step = first; step < first + count; ++step) {
      factors.emplace_back(optimizer_step(settings_.optimizer, learning_rate_, settings_.adam_eps,
                                          adam_steps_ + static_cast<std::int64_t>(step) + 1,
                                          settings_.betas));
    }
    side_.copy_in(factors_ + first, factors.data(), count);
  }

  int minibatch_of(std::size_t step) const { return static_cast<int>(step) % cut_.count(); }

  // The largest sizes over all cuts.
  struct Room {
    std::size_t batch = 0, steps = 0, notes = 0;
    std::size_t sums = 0;  // of all steps
    std::vector<GradientSize> sizes;

    void take(const DeviceUpdate& update) {
      const int batch_samples = static_cast<int>(update.batch_), largest = update.cut_.max_size();
      batch = std::max(batch, update.batch_);
      steps = std::max(steps, update.steps_);
      notes = std::max(notes, update.notes_);
      sums = std::max(sums, update.steps_ * update.notes_);
      for (const int samples : {largest, largest - 1, batch_samples}) {
        if (samples > 0) sizes.push_back({samples, update.partials_of(samples)});
      }
    }
  };
  Room room_for(const std::vector<MinibatchCut>& cuts) {
    Room room;
    for (const MinibatchCut& cut : cuts) {
      reshape(cut);
      room.take(*this);
    }
    reshape(cuts[0]);
    return room;
  }

  void make_arrays(const Room& room) {
    sums_ = side_.template allocate<Sums>(room.sums);
    batch_sums_ = side_.template allocate<Sums>(room.notes);
    norms_ = side_.template allocate<GradientNorms>(room.steps);
    factors_ = side_.template allocate<AdamFactors>(room.steps);
    shifts_ = side_.template allocate<AdvantageShift>(room.steps + 1);
    indices_ = side_.template allocate<std::int32_t>(room.batch * permutations_.orders());
  }

  // Computes the shift and the scale of advantages for each minibatch.
  void shift_minibatches(const DeviceRollout& rollout) {
    if (norm_ == AdvantageNorm::kOff) {
      const std::vector<AdvantageShift> none(steps_ + 1);
      return side_.copy_in(shifts_, none.data(), none.size());
    }
    if (norm_ == AdvantageNorm::kBatch) return shift(rollout, nullptr, 1, 1, shifts_ + steps_);
    shift(rollout, indices_, cut_.count(), ordered_steps(), shifts_);
  }

  // Steps until the orders of samples repeat.
  std::size_t ordered_steps() const {
    return permutations_.orders() * static_cast<std::size_t>(cut_.count());
  }

  // count: minibatches per epoch. all: minibatches in total.
  void shift(const DeviceRollout& rollout, const std::int32_t* indices, int count, std::size_t all,
             AdvantageShift* shifts) {
    side_.run(ShiftKernel{rollout.learnt, indices, static_cast<int>(batch_), count, shifts},
              ShiftKernel::shape(static_cast<int>(all)));
  }

  // A whole block is spread over as many partial gradients as minibatches are.
  int partials_of(int samples) const {
    return std::min(partial_gradient_count(samples, parameters()), most_);
  }

  GradientSize size_of(int samples) const { return {samples, partials_of(samples)}; }

  void make_gradients(const DeviceRollout& rollout, std::size_t step) {
    minibatch_gradient(rollout, step);
    if (rnd_ != nullptr) rnd_->make_gradient(rollout, step);
  }
  void minibatch_gradient(const DeviceRollout& rollout, std::size_t step) {
    const int m = minibatch_of(step);
    const std::size_t ordered = step % ordered_steps();
    const std::size_t order = ordered / static_cast<std::size_t>(cut_.count());
    const std::int32_t* const indices = indices_ + batch_ * order + cut_.begin(m);
    const AdvantageShift* const shift =
        shifts_ + (norm_ == AdvantageNorm::kBatch ? steps_ : ordered);
    gradient_.run(rollout, loss_, params(), indices, shift, size_of(cut_.size(m)),
                  sums_ + step * notes_);
  }

  // Shows the whole block: the first epoch's minibatches together.
  void show_batch(const DeviceRollout& rollout, Watcher& watcher) {
    const GradientSize all = size_of(static_cast<int>(batch_));
    AdvantageShift* const of_all = shifts_ + steps_;
    if (norm_ == AdvantageNorm::kMinibatch) shift(rollout, indices_, 1, 1, of_all);
    gradient_.run(rollout, loss_, params(), indices_, of_all, all, batch_sums_);
    const Report report = report_now(batch_sums_, all.partials, {gradient_.length(), {}, 0});
    watcher.on_batch(report, brought_);
  }
  void show_step(int epoch, int m, std::size_t step, Watcher& watcher) {
    const int partials = partials_of(cut_.size(m));
    const Report report = report_now(sums_ + step * notes_, partials, clipped_length());
    watcher.on_step(epoch, m, report, brought_);
  }

  // Copies the last gradient to the host and reports it.
  Report report_now(const Sums* noted, int partials, ClippedLength length) {
    std::vector<double> squares[2];
    for (const bool beside : {false, true}) {
      GradientLength& part = beside ? length.beside : length.network;
      squares[beside].resize(static_cast<std::size_t>(part.chunks));
      side_.copy_out(squares[beside].data(), part.squares, squares[beside].size());
      part.squares = squares[beside].data();
    }
    brought_.resize(parameters());
    side_.copy_out(brought_.data(), gradient_.gradient(), brought_.size());
    side_.wait();
    return {sums_now(noted, partials), length.norms()};
  }

  // Copies the sums of a step to the host and adds them up.
  Sums sums_now(const Sums* noted, int partials) {
    std::vector<Sums> sums(static_cast<std::size_t>(network_.sides()) * partials);
    side_.copy_out(sums.data(), noted, sums.size());
    side_.wait();
    Sums all;
    for (const Sums& of_one : sums) all.add(of_one);
    return all;
  }
  // The same for `count` steps.
  std::vector<StepSums<Sums>> sums_of(std::size_t first, std::size_t count) {
    std::vector<Sums> noted(count * notes_);
    side_.copy_out(noted.data(), sums_ + first * notes_, noted.size());
    side_.wait();
    std::vector<StepSums<Sums>> steps(count);
    for (std::size_t i = 0; i < count; ++i) {
      steps[i].samples = cut_.size(minibatch_of(first + i));
      const Sums* const of_step = &noted[i * notes_];
      for (int n = 0; n < network_.sides() * partials_of(steps[i].samples); ++n) {
        steps[i].sums.add(of_step[n]);
      }
    }
    return steps;
  }

  ClippedLength clipped_length() const {
    return {gradient_.length(), rnd_ == nullptr ? GradientLength{} : rnd_->gradient().length(),
            settings_.clips_sides_apart ? gradient_.policy_chunks() : 0};
  }

  void take_step(std::size_t step) {
    const ClippedLength length = clipped_length();
    const AdamFactors* const factors = factors_ + step;
    learnt_.take_step(factors, settings_.max_grad_norm, length, gradient_.gradient(), norms_ + step,
                      fault_);
    if (rnd_ == nullptr) return;
    rnd_->parameters().take_step(factors, settings_.max_grad_norm, length,
                                 rnd_->gradient().gradient(), nullptr, fault_);
  }

  // Reports of the steps taken.
  std::vector<Report> reports(std::size_t taken) {
    std::vector<GradientNorms> norms(taken);
    side_.copy_out(norms.data(), norms_, taken);
    std::vector<Report> reports;
    for (const StepSums<Sums>& step : sums_of(0, taken)) {
      reports.push_back({step.sums, norms[reports.size()]});
    }
    return reports;
  }

  Side& side_;
  Ranks& ranks_;
  DeviceNetwork network_;
  Loss loss_;
  MinibatchSettings settings_;
  AdvantageNorm norm_;
  MinibatchCut cut_{};
  typename Side::Repeated all_steps_;
  std::optional<std::pair<std::uint64_t, std::int64_t>> drawn_;  // seed and iteration of the draws
  std::size_t batch_ = 0, steps_ = 0;  // B, and most minibatch steps of an update
  int most_ = 0;                       // partial gradients of a step, of one side
  std::size_t notes_ = 0;              // most partial gradients of a step, of all sides
  Sums *sums_ = nullptr, *batch_sums_ = nullptr;
  GradientNorms* norms_ = nullptr;
  AdamFactors* factors_ = nullptr;    // of each step
  AdvantageShift* shifts_ = nullptr;  // of each step, then of all samples together
  std::int32_t* indices_ = nullptr;
  PermutationsAhead permutations_;
  DeviceParameters<Side> learnt_;  // the network's
  DeviceRnd<Side>* rnd_ = nullptr;
  DeviceGradient<Side, Loss> gradient_;
  const std::uint64_t* fault_ = nullptr;
  std::size_t taken_ = 0;  // steps of the present update so far
  double learning_rate_ = 0.0;
  std::int64_t adam_steps_ = 0;  // taken before the update
  std::vector<float> brought_;   // [P] a gradient on the host, for watchers
};

}  // namespace broadloom::cuda
