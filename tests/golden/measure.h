// Numbers of the configurations. All use two threads, and files of their own that they remove.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "research/lab/gradient_study.h"
#include "tests/golden/configurations.h"

namespace broadloom::golden {

// The first block and what the first update makes of it, field by field; the last block, the whole
// state, what the instruments say, and an evaluation.
Result<Lines> measure_run(const Run& run, const std::string& isa);

// Random numbers and eigenvalues by the ten thousand: what a run rounds to float before anybody
// looks.
Result<Lines> measure_functions(const std::string& isa);

// A gradient study of a policy that has trained a little: correlation, variance, bias.
Result<Lines> measure_gradients(const std::string& isa, AtLimit at_limit);
// The same beside what is exact, for a policy of a tabular environment.
Result<Lines> measure_exact_gradients(const std::string& isa, AtLimit at_limit);

// A study: what its store holds of each cell, curves and scores.
Result<Lines> measure_study(const std::string& isa);

}  // namespace broadloom::golden
