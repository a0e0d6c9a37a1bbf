#include "broadloom/train/step_sums.h"

#include <algorithm>
#include <span>

namespace broadloom {

std::vector<NamedNumber> counted_numbers(const EnvSpec& spec) {
  std::vector<NamedNumber> numbers;
  if (spec.counts_reward_terms) {
    for (const RewardTerm& term : spec.reward_terms) numbers.push_back({kRewardTerm, {term.name}});
  }
  for (const Measure& measure : spec.measures) numbers.push_back({kMeasure, {measure.name}});
  return numbers;
}

StepSums::StepSums(const VecEnv& envs)
    : envs_(static_cast<std::size_t>(envs.num_envs())),
      counted_(envs.spec().counted()),
      sums_(envs_ * counted_) {}

void StepSums::take(VecEnv& envs, int begin, int end) {
  if (counted_ == 0) return;
  for (int i = begin; i < end; ++i) {
    envs.take_step_sums(i,
                        std::span(sums_).subspan(static_cast<std::size_t>(i) * counted_, counted_));
  }
}

// Added up in the order of environments, whoever stepped them. Those that rest count nothing.
void StepSums::take_block(VecEnv& envs, const RankCut& cut, Exchange& exchange,
                          std::int64_t transitions, std::vector<NamedNumber>& numbers) {
  if (counted_ == 0) return;
  std::fill(sums_.begin(), sums_.end(), 0.0);
  take(envs, cut.envs().begin, cut.envs().end);
  exchange.add_lines(sums_.data(), 1, envs_, counted_ * sizeof(double), cut.env_bounds());
  exchange.finish();
  for (std::size_t k = 0; k < counted_; ++k) {
    double sum = 0.0;
    for (std::size_t i = k; i < sums_.size(); i += counted_) sum += sums_[i];
    numbers[k].value = sum / static_cast<double>(transitions);
  }
}

}  // namespace broadloom
