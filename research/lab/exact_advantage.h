// Moments of advantages in a tabular environment, by dynamic programming.
#pragma once

#include <vector>

#include "broadloom/rollout/advantages.h"
#include "research/lab/exact_chain.h"

namespace broadloom {

// A block, and how its advantages are estimated: generalised advantage estimation as
// compute_advantages() does it.
struct ExactCase {
  int num_steps = 1;     // T >= 1
  double lambda = 0.95;  // [0, 1]
  double gamma = 0.99;   // [0, 1]
};

// What ends the n steps that a step's advantage can look at, the step itself being the first. An
// advantage A_t = delta_t + gamma lambda A_{t+1} is cut where its episode ends, so it depends on
// the block's end only where its episode reaches that, and on the limit likewise: one number n says
// all, and there is no need to tell apart blocks' ends and limits at every (s, tau).
enum class Horizon {
  kBlock,        // the block's end; the time limit is farther away
  kLimit,        // the time limit; the block's end is no nearer
  kTermination,  // counts episodes that terminate at exactly the n-th step, and only those
  kAtLimit,      // counts episodes that have all n steps, with the time limit at the n-th
};

// For n = 1, 2, ..: E[A | s, a], E[A^2 | s, a], and the probability of what counts, with all that
// does not count taken as zero. Under kBlock and kLimit all counts.
class AdvantageMoments {
 public:
  // chain must outlive this. n is 0 until the first advance().
  AdvantageMoments(const ExactChain& chain, const ExactCase& of, TruncationMode mode,
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
std::vector<double> first_moments(const ExactChain& chain, const ExactCase& of, TruncationMode mode,
                                  Horizon horizon, int count);

}  // namespace broadloom
