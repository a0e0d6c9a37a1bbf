// Whether `train` is one process by itself or one of several that a launcher has started.
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

// Null: one process by itself. Call it before anything that talks, and keep it to the end.
Result<std::unique_ptr<Ranks>> ranks_asked_for(const RankFlags& flags);

// Worker threads of each where nobody says: processes on one machine share its cores, unless the
// launcher has given each its own.
int threads_of_a_rank(int asked, const Ranks& ranks);

}  // namespace broadloom::cli
