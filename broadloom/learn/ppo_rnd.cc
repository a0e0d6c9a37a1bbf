#include "broadloom/learn/ppo_rnd.h"

#include "broadloom/rollout/explained_variance.h"
#include "broadloom/rollout/minibatches.h"

namespace broadloom {

PpoRnd::PpoRnd(const ActorCritic& network, const PpoRndSettings& settings, int num_envs,
               int batch_size, int minibatch_count, int observation_size, int action_size,
               ThreadPool& pool, Ranks& ranks)
    : int_gamma_(settings.rnd.int_gamma),
      gae_lambda_(settings.ppo.gae_lambda),
      ppo_(network, settings.ppo, batch_size, minibatch_count, observation_size, action_size, pool,
           ranks),
      rnd_(settings.rnd, num_envs, batch_size, MinibatchCut{batch_size, minibatch_count}.max_size(),
           pool, ranks) {
  ppo_.set_companion(&rnd_);
}

std::size_t PpoRnd::bytes(const ActorCritic& network, const PpoRndSettings& settings, int num_envs,
                          int batch_size, int largest_minibatch, int observation_size,
                          int action_size, int threads) {
  const std::size_t predictor = ActorCritic(settings.rnd.shape).parameter_count();
  return Ppo::bytes(network, largest_minibatch, observation_size, action_size, threads) +
         Rnd::bytes(settings.rnd, num_envs, batch_size, largest_minibatch, threads) +
         3 * predictor * sizeof(float);
}

void PpoRnd::initialise(Learner& learner) {
  ppo_.initialise(learner);
  learner.add_companion(rnd_.parameter_count());
  rnd_.initialise(learner.companion());
}

void PpoRnd::take_block(const Learner& learner, RolloutBlock& block) {
  rnd_.take_block(learner.companion(), block);
}

void PpoRnd::compute_targets(RolloutBlock& block, int begin, int end) const {
  ppo_.compute_targets(block, begin, end);
  compute_intrinsic_advantages(block, begin, end, int_gamma_, gae_lambda_,
                               rnd_.statistics().reward_scale());
}

Status PpoRnd::update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                      Learner& learner) {
  RndStatistics& statistics = rnd_.statistics();
  stats_ = {.int_reward = statistics.mean_reward() * statistics.reward_scale(),
            .int_reward_raw = statistics.mean_reward()};
  BROADLOOM_TRY(ppo_.update(block, seed, iteration, learner));
  statistics.commit();
  stats_.int_value_loss = ppo_.stats().int_value_loss;
  stats_.int_explained = explained_variance(block.int_advantages, block.int_values);
  stats_.rnd_loss = rnd_.loss();
  return {};
}

void PpoRnd::visit_numbers(const NumberVisitor& visit) const {
  ppo_.visit_numbers(visit);
  stats_.visit(visit);
}

}  // namespace broadloom
