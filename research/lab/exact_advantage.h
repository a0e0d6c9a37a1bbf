// Moments of advantages in a tabular environment, by dynamic programming.
#pragma once

#include <vector>

#include "broadloom/rollout/advantages.h"
#include "research/lab/exact_chain.h"

namespace broadloom {

// A block, and the settings of its advantages: generalised advantage estimation as in
// compute_advantages().
struct ExactCase {
  int num_steps = 1;     // T >= 1
  double lambda = 0.95;  // [0, 1]
  double gamma = 0.99;   // [0, 1]
};

// The end of the n steps that a step's advantage can look at, counting the step itself. An
// advantage A_t = delta_t + gamma lambda A_{t+1} is cut at its episode's end. So it depends on the
// block's end, or on the limit, only if its episode reaches that. A single number n thus suffices,
// and ends of blocks and limits need no distinction at every (s, tau).
enum class Horizon {
  kBlock,        // the block's end; the time limit is farther away
  kLimit,        // the time limit; the block's end is no nearer
  kTermination,  // counts only episodes that terminate at exactly the n-th step
  kAtLimit,      // counts only episodes with all n steps and the time limit at the n-th
};

// E[A | s, a], E[A^2 | s, a], and the probability of counted episodes, for n = 1, 2, ... Other
// episodes contribute zero. Under kBlock and kLimit all episodes count.
class AdvantageMoments {
 public:
  // chain must outlive this object. n is 0 until the first advance().
  AdvantageMoments(const ExactChain& chain, const ExactCase& exact_case, TruncationMode mode,
                   Horizon horizon);

  // n += 1. Cost: O(outcomes).
  void advance();
  const std::vector<double>& first() const { return first_; }    // [S * A]
  const std::vector<double>& second() const { return second_; }  // [S * A]

 private:
  struct Sums {
    double probability, first, second;
    void add(double p, double advantage) {
      probability += p;
      first += p * advantage;
      second += p * advantage * advantage;
    }
  };
  Sums of_pair(int pair) const;
  void add_boundary(const ExactChain::Outcome& outcome, double value, Sums& sums) const;

  const ExactChain* chain_;
  double gamma_, trace_;
  TruncationMode mode_;
  Horizon horizon_;
  int n_ = 0;
  std::vector<double> probability_, first_, second_;                 // [S * A]
  std::vector<double> next_probability_, next_first_, next_second_;  // [S] averages for n - 1
};

// first() for n = 1..count: [count, S * A].
std::vector<double> first_moments(const ExactChain& chain, const ExactCase& exact_case,
                                  TruncationMode mode, Horizon horizon, int count);

}  // namespace broadloom
