// Puts the stores of a study's parts together.
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

// Makes the store `out`, which must not exist, with what the stores hold of one study: the same,
// times apart, as if one runner had made it. It appears whole or not at all. What no store holds is
// pending, and a study that runs on `out` does it. kMismatch where the stores are of different
// studies, or disagree about a run; kNotFound, kIo, kCorrupt.
Result<MergeSummary> merge_stores(const std::vector<std::string>& stores, const std::string& out);

// The same into a store that is there: see StudyStore::take().
Status take_runs(Database& store, const std::string& name, const std::string& path);

}  // namespace broadloom
