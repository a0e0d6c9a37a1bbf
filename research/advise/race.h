// The race: successive halving over candidates with several seeds each (Karnin, Koren and Somekh
// 2013; Jamieson and Talwalkar 2016). All remaining trials continue side by side, one thread each,
// to the same cost. Then the worse half leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "broadloom/core/thread_pool.h"
#include "research/advise/advice_budget.h"
#include "research/advise/evidence.h"
#include "research/advise/portfolio.h"
#include "research/advise/trial.h"

namespace broadloom {

// Candidates that stay to the end: the winner and two runners-up.
inline constexpr std::size_t kFinalists = 3;

// Number of candidates at the start of each rung; the first has all.
std::vector<std::size_t> rung_sizes(std::size_t candidates);

// Entrants that take part even if a budget has no room for them.
inline constexpr std::size_t kFewestEntrants = 4;

// Number of entrants, in order of trust, for which the race's budget has room. A trial of the first
// rung makes at least 25,000 steps and one block. blocks: environment steps of each entrant's.
std::size_t entrants_with_room(const std::vector<std::int64_t>& blocks, double race_steps,
                               int seeds);

class Race {
 public:
  // evidence.candidates must be those of `entrants`, in their order, with speeds if costs are
  // seconds. All arguments must outlive this object. jobs: concurrent trials.
  Race(const std::vector<Entrant>& entrants, AdviceEvidence& evidence, AdviceBudget& total_budget,
       int jobs);

  // Fills in curves and rungs. Failed trials are part of the result.
  void run(const PhaseBudget& budget);

  // Whether the leaders have reached the threshold and all others had twice as long. From then on,
  // more seeds tell more than more steps. Always false if the goal is a return.
  bool is_settled() const;
  // Seeds of add_seeds() that not all candidates completed in time.
  int dropped_seeds() const { return dropped_seeds_; }

  // From here on, seeds are evaluated a dozen times on the way to the threshold. They run twice as
  // far as the race, so that late seeds also arrive. They replace the race's seeds.
  void begin_anew();

  // Runs more seeds of the candidates, each as far as the others, until each has most_seeds or the
  // budget ends. Keeps only seeds that all of them completed. After begin_anew(), keeps them only
  // if they are at least as many as the race's.
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
  AdviceBudget& total_budget_;
  ThreadPool pool_;
  std::vector<std::size_t> alive_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<double> grid_;  // costs at which trials were evaluated
  double cost_ = 0.0;         // cost that all trials have reached, or limit of fresh seeds
  int next_seed_;             // of add_seeds(), counted from the first
  int dropped_seeds_ = 0;
  bool replaces_ = false;  // whether the next fresh seeds replace those of the race
  double slowness_ = 1.0;  // recent clock seconds per second of cost, for concurrent trials
  double seconds_ = 0.0, made_ = 0.0;  // of the clock and of cost, so far
};

}  // namespace broadloom
