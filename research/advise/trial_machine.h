// Training speeds on this machine.
#pragma once

#include <memory>
#include <vector>

#include "broadloom/train/trainer.h"
#include "research/advise/advice_budget.h"
#include "research/advise/advise_options.h"
#include "research/advise/portfolio.h"

namespace broadloom {

// One training that is timed now and then. Its first block allocates memory, and is not timed.
class TimedTraining {
 public:
  // Trains the first block of an endless run. Returns errors of the trainer. A loss that is not
  // finite is no error: it is due to the learning rate, and only ends the timing.
  Status begin(const Config& config, int threads);
  // Trains for at least `blocks` blocks and `seconds` seconds.
  Status time(double seconds, int blocks = 1);

  // Environment steps a second, of the fastest time so far; kNotKnown if there is none.
  double fastest() const { return fastest_; }
  // Null before begin().
  const Trainer* trainer() const { return trainer_.get(); }

 private:
  Status iterate();

  std::unique_ptr<Trainer> trainer_;
  bool goes_on_ = false;
  double fastest_ = kNotKnown;
};

// Environment steps a second of each entrant, trained as `train` would on `threads` threads, in
// about `seconds` seconds in total. Errors: of the trainer.
//
// A speed is the fastest of up to three rounds of at least one block each, after a first block that
// is not timed. Equally fast entrants are timed once. The speed is kNotKnown if losses are not
// finite, or if the budget was spent first.
Result<std::vector<double>> measure_speeds(const std::vector<Entrant>& entrants, int threads,
                                           double seconds, AdviceBudget& total_budget);

// The same from known speeds; kNotKnown where there is none.
std::vector<double> look_up_speeds(const std::vector<Entrant>& entrants, const KnownSpeeds& known);

}  // namespace broadloom
