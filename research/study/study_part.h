// Which runs of a study one call does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

// Part `index` of `count`: every count-th run. Each such part has a store of its own, which says
// which part it is. Where `runs` are named, those: the store is one of the whole study, in which
// the others stay pending.
struct StudyPart {
  int index = 1;
  int count = 1;
  std::vector<std::int64_t> runs = {};  // ascending; empty: all that index and count leave

  bool holds(std::int64_t run_id) const {
    if (!runs.empty()) return std::binary_search(runs.begin(), runs.end(), run_id);
    return (run_id - 1) % count == index - 1;
  }
  bool is_whole() const { return count == 1 && runs.empty(); }
};

// "2/4". kInvalidConfig unless 1 <= i <= n.
Result<StudyPart> parse_part(const std::string& text);

// "1-3,9" and back: runs by their numbers, ascending and each once. kInvalidConfig for anything
// else, or for a number that is not in 1 to `most`.
Result<std::vector<std::int64_t>> parse_runs(const std::string& text, std::int64_t most);
std::string runs_text(const std::vector<std::int64_t>& runs);

}  // namespace broadloom
