// Merges the stores of a study's parts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "research/study/sqlite.h"

namespace broadloom {

struct MergeSummary {
  std::int64_t runs = 0, finished = 0, failed = 0;
  std::int64_t pending() const { return runs - finished - failed; }
};

// Merges stores of one study into `out`, as if one runner had made it (except times). If `out` is
// a store of that study, its runs stay and the others are added; a run that finished replaces one
// that failed. Stores may have fewer seeds than another. The file changes as a whole or not at all,
// under its lock. Runs that no store has stay pending; running the study on `out` trains them.
// kMismatch if the stores or `out` belong to different studies or disagree about a run, or if `out`
// is the store of a part; kInvalidConfig, kNotFound, kIo (also if another command works on `out`),
// kCorrupt.
Result<MergeSummary> merge_stores(const std::vector<std::string>& stores, const std::string& out);

// Merges the store at `path` into an existing one; see StudyStore::take().
Status take_runs(Database& store, const std::string& name, const std::string& path);

}  // namespace broadloom
