// How fast this machine trains.
#pragma once

#include <memory>
#include <vector>

#include "broadloom/train/trainer.h"
#include "research/advise/advise_options.h"
#include "research/advise/portfolio.h"
#include "research/advise/purse.h"

namespace broadloom {

// One kind of training that is timed now and then. The first block allocates, and is not timed.
class TimedTraining {
 public:
  // Trains the first block of a run without an end. Errors: of the trainer; a loss that is not
  // finite is none: it says something of the learning rate, and ends the timing alone.
  Status begin(const Config& config, int threads);
  // At least so many blocks, and so many seconds.
  Status time(double seconds, int blocks = 1);

  // Environment steps a second, of the fastest time so far; not known where there was none.
  double fastest() const { return fastest_; }
  // Null before begin().
  const Trainer* trainer() const { return trainer_.get(); }

 private:
  Status iterate();

  std::unique_ptr<Trainer> trainer_;
  bool goes_on_ = false;
  double fastest_ = kNotKnown;
};

// Environment steps a second of each entrant, trained as `train` would on so many threads, in about
// so many seconds in all: the fastest of up to three rounds of at least a block each, after a first
// block that is not timed. Entrants that are equally fast are timed once. Not known are those whose
// losses are not finite, and those that were not timed before the purse was over. Errors: of the
// trainer.
Result<std::vector<double>> measure_speeds(const std::vector<Entrant>& entrants, int threads,
                                           double seconds, Purse& purse);

// The same from what is known; kInvalidConfig names an entrant that is not among it.
Result<std::vector<double>> look_up_speeds(const std::vector<Entrant>& entrants,
                                           const std::vector<KnownSpeed>& known);

}  // namespace broadloom
