// Connects `train` to the other processes that a launcher started for the same run.
#pragma once

#include <memory>
#include <string>

#include "broadloom/core/ranks.h"
#include "broadloom/core/status.h"
#include "cli/command_line.h"

namespace broadloom::cli {

struct RankFlags {
  std::string ranks = "auto";
  double timeout = 1800.0;  // seconds
};

void add_rank_flags(Command command, RankFlags& flags);

// Null: this process trains alone. Call it before anything prints, and keep the result to the end.
Result<std::unique_ptr<Ranks>> make_requested_ranks(const RankFlags& flags);

// Worker threads of this rank. requested 0: an equal share of the machine's cores, or the cores
// that the launcher gave to this process, if they are fewer.
int threads_per_rank(int requested, const Ranks& ranks);

}  // namespace broadloom::cli
