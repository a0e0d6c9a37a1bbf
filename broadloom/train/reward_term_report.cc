#include "broadloom/train/reward_term_report.h"

#include <algorithm>
#include <span>

namespace broadloom {

RewardTermReport::RewardTermReport(const VecEnv& envs)
    : count_(static_cast<std::size_t>(envs.num_envs())),
      terms_(envs.spec().counts_reward_terms ? envs.spec().reward_terms.size() : 0),
      sums_(count_ * terms_) {
  for (std::size_t k = 0; k < terms_; ++k)
    numbers_.push_back({kRewardTerm, {envs.spec().reward_terms[k].name}});
}

void RewardTermReport::take(VecEnv& envs, int begin, int end) {
  if (terms_ == 0) return;
  for (int i = begin; i < end; ++i) {
    envs.take_reward_sums(i,
                          std::span(sums_).subspan(static_cast<std::size_t>(i) * terms_, terms_));
  }
}

// Added up in the order of environments, whoever stepped them. Those that rest have paid nothing.
void RewardTermReport::take_block(VecEnv& envs, const RankCut& cut, Exchange& exchange,
                                  std::int64_t transitions) {
  if (terms_ == 0) return;
  std::fill(sums_.begin(), sums_.end(), 0.0);
  take(envs, cut.envs().begin, cut.envs().end);
  exchange.add_lines(sums_.data(), 1, count_, terms_ * sizeof(double), cut.env_bounds());
  exchange.finish();
  for (std::size_t k = 0; k < terms_; ++k) {
    double sum = 0.0;
    for (std::size_t i = k; i < sums_.size(); i += terms_) sum += sums_[i];
    numbers_[k].value = sum / static_cast<double>(transitions);
  }
}

}  // namespace broadloom
