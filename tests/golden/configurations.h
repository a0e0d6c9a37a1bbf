// What the golden hashes are of: small runs that together go through everything that makes bits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "tests/golden/numbers.h"

namespace broadloom::golden {

// A training run: settings over those that all runs have, and so many iterations of twice as many.
struct Run {
  std::string name;
  Overrides overrides;
  int iterations = 3;
};
const std::vector<Run>& training_runs();

// The whole config of a run on an instruction set.
Result<Config> config_of(const Run& run, const std::string& isa);

// A name in hashes.txt. measure() makes its numbers on an instruction set, in the order of cause:
// where two instruction sets part, the first number that differs says where. It sets the process's
// instruction set and leaves it so.
struct Configuration {
  std::string name;
  std::function<Result<Lines>(const std::string& isa)> measure;
};
const std::vector<Configuration>& configurations();

}  // namespace broadloom::golden
