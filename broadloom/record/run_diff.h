// Compares two runs: their settings, and the first content hash that differs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"

namespace broadloom {

// A value that differs between two runs, as texts.
struct TextDifference {
  std::string name, first, second;
};

// Keys of two configs whose texts differ, in the order of the first.
std::vector<TextDifference> setting_differences(const Overrides& first, const Overrides& second);

// The first difference of two runs.
struct Parting {
  std::int64_t iteration = 0;  // 1 is the first
  // One of hashed_fields(), or "params": the blocks are equal, but not the parameters after the
  // update.
  std::string field;
  int step = 0;                   // t in the block; unused for params
  std::vector<int> environments;  // whose rows of this field differ
  std::int64_t global_step = 0;   // environment steps of the run, including step t
};

struct RunDiff {
  std::vector<TextDifference> settings;  // keys in the order of the first run's manifest; upstream
  std::vector<TextDifference> origins;   // program and machine: version, revision, isa, cpu, ...
  std::int64_t iterations_first = 0, iterations_second = 0;  // with hashes
  std::int64_t compared = 0;                                 // iterations that both have
  std::optional<Parting> parting;                            // absent: equal as far as both go

  bool equal() const { return !parting.has_value(); }
};

// Compares two run folders. If several environments differ within one block, the result has the
// first step and all environments that differ somewhere in the block, but not which differ at that
// step. kNotFound without a run or hashes, kMismatch for different block shapes, kCorrupt. Cost:
// one pass over both files.
Result<RunDiff> diff_runs(const std::string& first, const std::string& second);

}  // namespace broadloom
