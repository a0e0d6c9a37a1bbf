// The runs of a study that one call trains.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

// Every count-th run, beginning with `index`; such a part has a store of its own that says which
// part it is. If `runs` are named, those instead: the store is one of the whole study, and its
// other runs stay pending.
struct StudyPart {
  int index = 1;
  int count = 1;
  std::vector<std::int64_t> runs = {};  // ascending; empty: chosen by index and count

  bool holds(std::int64_t run_id) const {
    if (!runs.empty()) return std::binary_search(runs.begin(), runs.end(), run_id);
    return (run_id - 1) % count == index - 1;
  }
  bool is_whole() const { return count == 1 && runs.empty(); }
};

// "part 2/4"; of a count of 1: "the whole study".
std::string part_name(std::int64_t index, std::int64_t count);

// Reads "2/4". kInvalidConfig unless 1 <= index <= count.
Result<StudyPart> parse_part(const std::string& text);

// Reads and writes "1-3,9": numbers of runs, ascending and without repeats. kInvalidConfig for
// other text or for a number outside 1 to `most`.
Result<std::vector<std::int64_t>> parse_runs(const std::string& text, std::int64_t most);
std::string runs_text(const std::vector<std::int64_t>& runs);

}  // namespace broadloom
