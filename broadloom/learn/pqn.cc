#include "broadloom/learn/pqn.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "broadloom/learn/minibatch_update-inl.h"

namespace broadloom {

Status check_minibatch(const MinibatchReport& report, const PqnSums& sums, std::int64_t iteration) {
  const bool first = report.epoch == 0 && report.minibatch == 0;
  if (first && sums.max_value_error != 0.0) {
    return {ErrorKind::kNumeric,
            fmt::format(
                "the first minibatch of iteration {} has values that differ by {} from those of "
                "its block; expected exactly 0. The parameters, observations or "
                "statistics changed between collection and update, or are not finite.",
                iteration, sums.max_value_error)};
  }
  if (std::isfinite(report.norm) && std::isfinite(sums.td_loss)) return {};
  return {ErrorKind::kNumeric,
          fmt::format("loss or gradient is not finite at iteration {}, epoch {}, minibatch {} (TD "
                      "loss {}, gradient norm {}). Try a smaller learning_rate or reward_scale, or "
                      "layer_norm.",
                      iteration, report.epoch, report.minibatch, sums.td_loss / report.samples,
                      report.norm)};
}

void PqnStats::add(const MinibatchReport& minibatch, const PqnSums& sums) {
  td_loss += sums.td_loss / minibatch.samples;
  q_values += sums.q_values / minibatch.samples;
  grad_norm += minibatch.norm;
}

void PqnStats::finish(int steps) {
  for (double* mean : {&td_loss, &q_values, &grad_norm}) *mean /= steps;
}

template class PartialGradients<PqnLoss>;
template class MinibatchUpdate<PqnLoss>;

Pqn::Pqn(const ActorCritic& network, const PqnSettings& settings, int batch_size,
         int minibatch_count, int observation_size, ThreadPool& pool, Ranks& ranks)
    : settings_(settings),
      epsilon_(settings.epsilon.epsilon(0.0)),
      update_(network, {settings.vf_coef},
              {settings.update_epochs, settings.max_grad_norm, settings.adam_eps, Optimizer::kRadam,
               settings.steps_together},
              batch_size, minibatch_count, observation_size, 1, pool, ranks) {}

std::size_t Pqn::bytes(const ActorCritic& network, int largest_minibatch, int observation_size,
                       int threads) {
  return PartialGradients<PqnLoss>::bytes(network, largest_minibatch, observation_size, 1, threads);
}

void Pqn::compute_targets(RolloutBlock& block, int begin, int end) const {
  compute_advantages(block, begin, end, settings_.gamma, settings_.gae_lambda,
                     settings_.truncation_mode);
}

Status Pqn::update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                   Learner& learner) {
  stats_ = {};
  iteration_ = iteration;
  BROADLOOM_TRY(update_.run(block, seed, iteration, learner, *this));
  stats_.finish(update_.steps());
  stats_.epsilon = epsilon_;
  return {};
}

Status Pqn::before_step(const MinibatchReport& minibatch, const PqnSums& sums, Learner&) {
  BROADLOOM_TRY(check_minibatch(minibatch, sums, iteration_));
  stats_.add(minibatch, sums);
  return {};
}

}  // namespace broadloom
