// The small runs of the golden hashes. Together they cover all code that makes bits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "tests/golden/numbers.h"

namespace broadloom::golden {

// A training run: settings besides those of all runs, and its iterations, half of its budget.
struct Run {
  std::string name;
  Overrides overrides;
  int iterations = 3;
};
const std::vector<Run>& training_runs();

// A run that learns from a teacher, without the key that names it.
struct Student {
  Run run;
  Overrides of_teacher;
};
const std::vector<Student>& students();

// The whole config of a run on an instruction set.
Result<Config> config_of(const Run& run, const std::string& isa);

// A name in hashes.txt. measure() computes its numbers with an instruction set, in the order of
// computation: the first number that differs shows where two instruction sets part. It changes the
// process's instruction set and does not restore it.
struct Configuration {
  std::string name;
  std::function<Result<Lines>(const std::string& isa)> measure;
};
const std::vector<Configuration>& configurations();

}  // namespace broadloom::golden
