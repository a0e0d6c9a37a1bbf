// The race: successive halving over candidates, each with several seeds (Karnin, Koren and Somekh
// 2013; Jamieson and Talwalkar 2016). All that are in it go on from where they stand, side by side,
// one thread each, to the same cost, and the worse half leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "broadloom/core/thread_pool.h"
#include "research/advise/evidence.h"
#include "research/advise/portfolio.h"
#include "research/advise/purse.h"
#include "research/advise/trial.h"

namespace broadloom {

// Candidates that stay to the end: one and two runners-up.
inline constexpr std::size_t kFinalists = 3;

// How many candidates each rung begins with, the first with all of them.
std::vector<std::size_t> rung_sizes(std::size_t candidates);

// Of so many entrants in order of trust, how many the budget of the race has room for: a trial of
// the first rung makes at least 25,000 steps, but four take part anyway.
std::size_t entrants_with_room(std::size_t entrants, double race_steps, int seeds);

class Race {
 public:
  // evidence.candidates are those of `entrants`, in their order, with speeds where costs are
  // seconds. All must outlive this. jobs: trials at once.
  Race(const std::vector<Entrant>& entrants, AdviceEvidence& evidence, Purse& purse, int jobs);

  // Fills in curves and rungs. Trials that fail are part of the result.
  void run(const PhaseBudget& budget);

  // Whether those ahead are at the threshold, and all others have had twice as long: more seeds
  // tell more from here on than more steps. Never where what is asked for is a return.
  bool is_settled() const;

  // From here on seeds are evaluated a dozen times on the way to the threshold, and go twice as far
  // as the race came, so that late ones are seen to arrive; those of the race are replaced.
  void begin_anew();

  // More seeds of the candidates, each trained as far as the others were, until each has
  // most_seeds or the budget has no room. Only seeds that all of them have are kept, and where
  // seeds begin anew, only if they are not fewer than those of the race.
  void add_seeds(const std::vector<std::size_t>& candidates, const PhaseBudget& budget,
                 int most_seeds);

 private:
  struct Runner {
    std::size_t candidate;
    std::unique_ptr<Trial> trial;
  };

  void run_rung(std::size_t rung, std::size_t rungs, const PhaseBudget& budget);
  int slices_of(double rung_cost) const;
  double next_cost(const PhaseBudget& budget, std::int64_t spent_before, double parts_left) const;
  bool is_decided() const;
  double slowest_of_fastest() const;
  void advance(const std::vector<Runner*>& runners, double cost);
  void run_again(Runner& runner, const std::function<bool()>& should_stop);
  bool is_over(const Runner& runner) const;
  std::vector<Runner*> going() const;
  void end_rung(const std::vector<std::size_t>& candidates);
  void keep(const std::vector<std::size_t>& candidates);
  void keep_whole(const std::vector<std::size_t>& candidates, const std::vector<Runner>& fresh,
                  const std::vector<char>& is_whole);
  void publish();
  double unit_cost(const std::vector<Runner*>& runners) const;
  std::int64_t seeds_with_room(const std::vector<std::size_t>& candidates,
                               const PhaseBudget& budget, double horizon) const;

  const std::vector<Entrant>& entrants_;
  AdviceEvidence& evidence_;
  Purse& purse_;
  ThreadPool pool_;
  std::vector<std::size_t> alive_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<double> grid_;  // costs at which trials were evaluated
  double cost_ = 0.0;         // that all trials in the race have come to, or fresh seeds may
  int next_seed_;             // of add_seeds, counted from the first
  bool replaces_ = false;     // whether the next fresh seeds replace those of the race
  double slowness_ = 1.0;     // seconds of the clock for a second of cost, side by side: lately
  double seconds_ = 0.0, made_ = 0.0;  // of the clock and of cost, so far
};

}  // namespace broadloom
