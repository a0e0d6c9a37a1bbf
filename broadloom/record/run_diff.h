// Where two runs part: their settings side by side, and the first of their content hashes to
// differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"

namespace broadloom {

// What one run has and the other has not, as texts.
struct TextDifference {
  std::string name, first, second;
};

// Keys of two configs whose texts differ, in the order of the first.
std::vector<TextDifference> setting_differences(const Overrides& first, const Overrides& second);

struct Parting {
  std::int64_t iteration = 0;  // 1 is the first
  // Of hashed_fields(), or "params": the blocks are equal and the parameters after the update are
  // not.
  std::string field;
  int step = 0;                   // t of the block; nothing for params
  std::vector<int> environments;  // whose row of this field differs; at least one parts here
  std::int64_t global_step = 0;   // environment steps of the run, those of step t included
};

struct RunDiff {
  std::vector<TextDifference> settings;  // config keys, in the order of the first run's manifest
  std::vector<TextDifference> origins;   // program and machine: version, revision, isa, cpu, ...
  std::int64_t iterations_first = 0, iterations_second = 0;  // that there are hashes of
  std::int64_t compared = 0;                                 // iterations that both have
  std::optional<Parting> parting;                            // none: equal as far as both go

  bool equal() const { return !parting.has_value(); }
};

// Compares two run folders. Where several environments part within one block, the first step is
// known, and the environments that differ somewhere in the block; not which of these it was at that
// step. kNotFound where there is no run or no hashes, kMismatch where blocks have other shapes,
// kCorrupt. Costs one pass over both files.
Result<RunDiff> diff_runs(const std::string& first, const std::string& second);

}  // namespace broadloom
