// Scores of some steps of an environment, and weighted sums of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "broadloom/evaluate/policy.h"
#include "broadloom/instruments/gradient/factors.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// How steps of a list are cut for a policy with memory, which goes back within a window only. Other
// policies do not read it.
struct StepCut {
  int first = 0;   // of the steps that are cut; earlier ones have weight 0
  int piece = 0;   // windows begin anew every so many steps; 0: never
  int window = 0;  // steps of a window; 0: a piece
};

// Use one per thread.
class StepScores {
 public:
  StepScores(const Policy& policy, Score score)
      : network_(policy.network), maker_(policy.network, terms_of(score)) {
    maker_.set_params(policy.params);
  }

  // Reads environment n at these places in time, in that order. With memory, the block keeps the
  // states before each step, and places that are left out end with an episode's end.
  void read(const RolloutBlock& block, int n, const std::vector<int>& steps) {
    const std::size_t D = static_cast<std::size_t>(block.D), A = static_cast<std::size_t>(block.A);
    const std::size_t E = static_cast<std::size_t>(block.critic.size), S = network_.state_size();
    rows_ = static_cast<int>(steps.size());
    observations_.resize(steps.size() * D);
    critic_observations_.resize(steps.size() * E);
    actions_.resize(steps.size() * A);
    valid_.resize(steps.size() * static_cast<std::size_t>(block.M));
    states_.resize(steps.size() * S);
    begins_.resize(steps.size());
    for (std::size_t r = 0; r < steps.size(); ++r) {
      const std::size_t i = block.index(steps[r], n);
      block.observations.read(i, 1, &observations_[r * D]);
      if (E > 0) block.critic_observations.read(i, 1, &critic_observations_[r * E]);
      std::copy_n(&block.actions[i * A], A, &actions_[r * A]);
      block.copy_valid(i, r, valid_);
      begins_[r] = block.begins_at(steps[r], n) ? 1 : 0;
      if (S > 0) std::copy_n(&block.states[i * S], S, &states_[r * S]);
    }
    if (S > 0) return;
    maker_.make(input(0), actions_.data(), nullptr, nullptr, rows_, factors_);
  }

  // Adds the sum over the steps of weights [steps] times score to sum [P].
  void add(const std::vector<float>& weights, const StepCut& cut, float* sum) {
    if (!network_.is_recurrent()) return add_weighted_sum(factors_, weights.data(), sum);
    const int piece = cut.piece > 0 ? cut.piece : rows_ - cut.first;
    const int window = cut.window > 0 ? std::min(cut.window, piece) : piece;
    const std::size_t S = network_.state_size();
    for (int begin = cut.first; begin < rows_; begin += piece) {
      const int count = std::min(piece, rows_ - begin);
      before_.clear();
      for (int t = begin; t < begin + count; t += window) {
        const auto state = states_.begin() + static_cast<std::ptrdiff_t>(t * S);
        before_.insert(before_.end(), state, state + static_cast<std::ptrdiff_t>(S));
      }
      maker_.add_sequences(input(begin), &actions_[begin * actions_.size() / begins_.size()],
                           &weights[static_cast<std::size_t>(begin)], count,
                           {count, window, before_.data(), &begins_[begin]}, sum);
    }
  }

 private:
  static GradientTerms terms_of(Score score) {
    GradientTerms terms;
    terms.score = score;
    return terms;
  }

  NetworkInput<float> input(int first) const {
    const auto row_of = [&](const auto& rows) {
      return rows.data() + static_cast<std::size_t>(first) * (rows.size() / begins_.size());
    };
    NetworkInput<float> input(row_of(observations_));
    if (!critic_observations_.empty()) input.critic = row_of(critic_observations_);
    if (!valid_.empty()) input.valid = row_of(valid_);
    return input;
  }

  const ActorCritic& network_;
  FactorMaker<float> maker_;
  GradientFactors<float> factors_;
  int rows_ = 0;
  std::vector<float> observations_, critic_observations_, actions_;
  std::vector<float> states_, before_;  // [steps, S], [windows, S]
  std::vector<std::uint8_t> valid_, begins_;
};

}  // namespace broadloom
