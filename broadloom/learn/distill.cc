#include "broadloom/learn/distill.h"

#include <fmt/core.h>

#include <cmath>

#include "broadloom/learn/minibatch_update-inl.h"

namespace broadloom {
namespace {

Status check_minibatch(const MinibatchReport& report, const DistillSums& sums,
                       std::int64_t iteration) {
  if (sums.max_log_prob_error != 0.0) {
    return {ErrorKind::kNumeric,
            fmt::format(
                "the first minibatch of iteration {} has log-probabilities that differ by {} from "
                "those of its block; expected exactly 0. The parameters, observations or "
                "statistics changed between collection and update, or are not finite.",
                iteration, sums.max_log_prob_error)};
  }
  if (std::isfinite(report.norm) && std::isfinite(sums.loss)) return {};
  return {ErrorKind::kNumeric,
          fmt::format("loss or gradient is not finite at iteration {}, epoch {}, minibatch {} "
                      "(distance from the teacher {}, gradient norm {}). Try a smaller "
                      "learning_rate, norm_obs, or distill_loss = huber.",
                      iteration, report.epoch, report.minibatch, sums.loss / report.samples,
                      report.norm)};
}

}  // namespace

template class PartialGradients<DistillLoss>;
template class MinibatchUpdate<DistillLoss>;

Distill::Distill(const ActorCritic& network, const DistillSettings& settings, int batch_size,
                 int minibatch_count, int observation_size, int action_size, ThreadPool& pool,
                 Ranks& ranks)
    : settings_(settings),
      update_(network, {settings.loss},
              {settings.update_epochs, settings.max_grad_norm, settings.adam_eps, Optimizer::kAdam,
               settings.steps_together, Shuffle::kOff},
              batch_size, minibatch_count, observation_size, action_size, pool, ranks) {}

std::size_t Distill::bytes(const ActorCritic& network, int largest_minibatch, int observation_size,
                           int action_size, int threads) {
  return PartialGradients<DistillLoss>::bytes(network, largest_minibatch, observation_size,
                                              action_size, threads);
}

void Distill::compute_targets(RolloutBlock& block, int begin, int end) const {
  compute_advantages(block, begin, end, settings_.gamma, settings_.gae_lambda,
                     settings_.truncation_mode);
}

Status Distill::update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                       Learner& learner) {
  stats_ = {};
  iteration_ = iteration;
  update_.loss().compares = true;
  BROADLOOM_TRY(update_.run(block, seed, iteration, learner, *this));
  stats_.behavior_loss /= update_.steps();
  stats_.grad_norm /= update_.steps();
  return {};
}

Status Distill::before_step(const MinibatchReport& minibatch, const DistillSums& sums, Learner&) {
  BROADLOOM_TRY(check_minibatch(minibatch, sums, iteration_));
  update_.loss().compares = false;
  stats_.behavior_loss += sums.loss / minibatch.samples;
  stats_.grad_norm += minibatch.norm;
  return {};
}

}  // namespace broadloom
