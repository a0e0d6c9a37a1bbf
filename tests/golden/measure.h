// Computes the numbers of the configurations. All use two threads, and remove their files.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "research/lab/gradient_study.h"
#include "tests/golden/configurations.h"

namespace broadloom::golden {

// The first block and the first update, field by field; the last block, the whole state, the
// instruments' numbers, and an evaluation.
Result<Lines> measure_run(const Run& run, const std::string& isa);

// Ten thousands of random numbers and eigenvalues, which a run rounds to float.
Result<Lines> measure_functions(const std::string& isa);

// A gradient study of a policy that has trained a little: correlation, variance, bias.
Result<Lines> measure_gradients(const std::string& isa, AtLimit at_limit);
// The gradients of a short run with these keys.
Result<Lines> measure_gradients_of(const std::string& isa, const Overrides& overrides);
// The same beside exact values, for a policy of a tabular environment.
Result<Lines> measure_exact_gradients(const std::string& isa, AtLimit at_limit);

// As measure_run(), of a student whose teacher has trained for one iteration.
Result<Lines> measure_student(const Student& student, const std::string& isa);

// A study: the curves and scores of each cell in its store.
Result<Lines> measure_study(const std::string& isa);

}  // namespace broadloom::golden
