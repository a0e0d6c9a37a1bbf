// The zoo: for each task settings that were found by measurement, and what the policy returns that
// they train. experiments/zoo makes it; the build compiles in the files of configs/zoo.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"

namespace broadloom::cli {

// A mean with its 95 % interval. Not a number where there is none.
struct ZooReturn {
  double mean, low, high;
};

// Columns of configs/zoo/results.csv.
struct ZooEntry {
  std::string task;
  std::string parameters_hash;  // of the kept policy, as in a record
  bool same_bits_anywhere;      // false: the simulator's bits depend on the machine
  ZooReturn kept;               // the kept policy, over episodes that training never saw
  std::int64_t episodes;
  ZooReturn over_seeds;  // trainings with other seeds
  std::int64_t seeds;
  std::int64_t steps;
  double seconds;                   // of one core; not a number: not measured
  std::optional<double> published;  // a score elsewhere
  std::string published_by;
  std::string_view settings;  // TOML, with the kept policy's seed
};

// In the order of results.csv. kCorrupt if the compiled-in files do not fit together.
Result<std::vector<ZooEntry>> zoo_entries();

// kNotFound, with the nearest task of the zoo.
Result<ZooEntry> zoo_entry(const std::string& task);

Result<Overrides> zoo_keys(const ZooEntry& entry);

}  // namespace broadloom::cli
