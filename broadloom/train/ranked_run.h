// A run that several ranks train together: the first one has the folder and says what is trained,
// and the others follow.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/ranks.h"
#include "broadloom/core/status.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

// What the first rank has begun or gone on with.
struct RankedRun {
  Config config;
  std::string isa;  // what set_isa() is to be given, for the first one's bits
};

// All ranks call it before anything else. kMismatch unless all run the same file.
Status check_same_program(Ranks& ranks);

// All call it. kMismatch, everywhere alike, unless all say the same of what makes a run's bits.
Status check_same_words(Ranks& ranks, const std::string& mine);

// Of the others: waits for what the first has. Its error, where it has come to nothing; nothing,
// where there is nothing left to train.
Result<std::optional<RankedRun>> join_run(Ranks& ranks);
// Trains with it until it ends, and fails as it does. set_isa() has been called.
Status follow_run(const RankedRun& run, int threads, Ranks& ranks,
                  const std::function<bool()>& should_stop);

// Of the first. Says whether there is a run: `ready` is what became of it; `trainer` has its state,
// and is null where nothing is left to train. Then all have that state. Nothing to do for one rank.
Status call_ranks(const Status& ready, Trainer* trainer, Ranks& ranks);

// Of all: iterations until the run is over or one of them is to stop, and then the environments'
// state for a checkpoint. after_iteration may be empty.
Status iterate_together(Trainer& trainer, const std::function<void()>& after_iteration,
                        const std::function<bool()>& should_stop);

}  // namespace broadloom
