#include "research/lab/exact_advantage.h"

namespace broadloom {
AdvantageMoments::AdvantageMoments(const ExactChain& chain, const ExactCase& exact_case,
                                   TruncationMode mode, Horizon horizon)
    : chain_(&chain),
      gamma_(exact_case.gamma),
      trace_(exact_case.gamma * exact_case.lambda),
      mode_(mode),
      horizon_(horizon),
      probability_(static_cast<std::size_t>(chain.num_pairs())),
      first_(probability_.size()),
      second_(probability_.size()) {}

void AdvantageMoments::advance() {
  next_probability_ = policy_average(*chain_, probability_);
  next_first_ = policy_average(*chain_, first_);
  next_second_ = policy_average(*chain_, second_);
  n_ += 1;
  for (int pair = 0; pair < chain_->num_pairs(); ++pair) {
    const Sums sums = of_pair(pair);
    probability_[pair] = sums.probability;
    first_[pair] = sums.first;
    second_[pair] = sums.second;
  }
}

AdvantageMoments::Sums AdvantageMoments::of_pair(int pair) const {
  const double value = chain_->values[pair / chain_->num_actions];
  const bool early_counts = horizon_ == Horizon::kBlock || horizon_ == Horizon::kLimit;
  Sums sums{0.0, 0.0, 0.0};
  chain_->for_outcomes(pair, [&](const ExactChain::Outcome& o) {
    if (o.terminated()) {
      if (n_ == 1 || early_counts) sums.add(o.probability, o.reward - value);
      return;
    }
    if (n_ == 1) {
      add_boundary(o, value, sums);
      return;
    }
    const double delta = o.reward + gamma_ * chain_->values[o.next] - value;
    const double probability = next_probability_[o.next];
    const double first = trace_ * next_first_[o.next];
    const double second = trace_ * trace_ * next_second_[o.next];
    sums.probability += o.probability * probability;
    sums.first += o.probability * (delta * probability + first);
    sums.second += o.probability * (delta * delta * probability + 2.0 * delta * first + second);
  });
  return sums;
}

void AdvantageMoments::add_boundary(const ExactChain::Outcome& outcome, double value,
                                    Sums& sums) const {
  const double next_value = chain_->values[outcome.next];
  switch (horizon_) {
    case Horizon::kBlock:
      sums.add(outcome.probability, outcome.reward + gamma_ * next_value - value);
      return;
    case Horizon::kLimit:
    case Horizon::kAtLimit:
      sums.add(outcome.probability,
               truncated_delta(mode_, outcome.reward, gamma_, value, next_value));
      return;
    case Horizon::kTermination:
      return;
  }
}

std::vector<double> first_moments(const ExactChain& chain, const ExactCase& exact_case,
                                  TruncationMode mode, Horizon horizon, int count) {
  AdvantageMoments moments(chain, exact_case, mode, horizon);
  std::vector<double> table;
  table.reserve(static_cast<std::size_t>(count) * chain.num_pairs());
  for (int n = 0; n < count; ++n) {
    moments.advance();
    table.insert(table.end(), moments.first().begin(), moments.first().end());
  }
  return table;
}

}  // namespace broadloom
