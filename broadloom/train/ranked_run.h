// A run that several ranks train together. The first rank has the folder and chooses the run; the
// others follow.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/ranks.h"
#include "broadloom/core/status.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

// The run that the first rank has started or resumed.
struct RankedRun {
  Config config;
  std::string isa;  // argument for set_isa() that gives the first rank's bits
  std::optional<TeacherFile> teacher = {};  // the first rank's
};

// All ranks call it before anything else. kMismatch unless all run the same program file.
Status check_same_program(Ranks& ranks);

// All ranks call it. kMismatch, on all ranks, unless all texts are equal. mine: describes what
// changes a run's bits.
Status check_same_words(Ranks& ranks, const std::string& mine);

// Called by the other ranks: waits for the first rank's run. The first rank's error if it failed;
// nullopt if there is nothing to train.
Result<std::optional<RankedRun>> join_run(Ranks& ranks);
// Called by the other ranks: trains with the first rank until the run ends. Fails if the first rank
// fails. Call set_isa() before.
Status follow_run(const RankedRun& run, int threads, Ranks& ranks,
                  const std::function<bool()>& should_stop);

// Called by the first rank: announces the run and copies its state to all ranks. ready: status of
// the run's start. trainer: has its state; null if there is nothing to train. teacher: the
// trainer's, which the other ranks may not find on their machines. Does nothing for one rank.
Status call_ranks(const Status& ready, Trainer* trainer, Ranks& ranks,
                  const std::optional<TeacherFile>& teacher = {});

// Called by all ranks: iterates until the run ends or one rank is to stop, then gathers the
// environments for a checkpoint. after_iteration may be empty.
Status iterate_together(Trainer& trainer, const std::function<void()>& after_iteration,
                        const std::function<bool()>& should_stop);

}  // namespace broadloom
