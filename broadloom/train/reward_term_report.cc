#include "broadloom/train/reward_term_report.h"

#include <span>

namespace broadloom {

RewardTermReport::RewardTermReport(const VecEnv& envs)
    : count_(static_cast<std::size_t>(envs.num_envs())),
      terms_(envs.spec().counts_reward_terms ? envs.spec().reward_terms.size() : 0),
      sums_(count_ * terms_),
      before_(terms_) {
  for (std::size_t k = 0; k < terms_; ++k)
    numbers_.push_back({kRewardTerm, {envs.spec().reward_terms[k].name}});
  begin(envs);
}

void RewardTermReport::begin(const VecEnv& envs) {
  read(envs, 0, static_cast<int>(count_));
  for (std::size_t k = 0; k < terms_; ++k) before_[k] = total(k);
}

void RewardTermReport::read(const VecEnv& envs, int begin, int end) {
  if (terms_ == 0) return;
  for (int i = begin; i < end; ++i) {
    envs.reward_sums(i, std::span(sums_).subspan(static_cast<std::size_t>(i) * terms_, terms_));
  }
}

// In the order of environments, whoever stepped them.
double RewardTermReport::total(std::size_t term) const {
  double sum = 0.0;
  for (std::size_t i = term; i < sums_.size(); i += terms_) sum += sums_[i];
  return sum;
}

void RewardTermReport::take_block(const VecEnv& envs, const RankCut& cut, Exchange& exchange,
                                  std::int64_t transitions) {
  if (terms_ == 0) return;
  read(envs, cut.envs().begin, cut.envs().end);
  exchange.add_lines(sums_.data(), 1, count_, terms_ * sizeof(double), cut.env_bounds());
  exchange.finish();
  for (std::size_t k = 0; k < terms_; ++k) {
    const double now = total(k);
    numbers_[k].value = (now - before_[k]) / static_cast<double>(transitions);
    before_[k] = now;
  }
}

}  // namespace broadloom
