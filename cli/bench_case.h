// One configuration under measurement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/nn/flops.h"
#include "broadloom/train/trainer.h"
#include "cli/first_step.h"

namespace broadloom::cli {

// Whole iterations, timed from outside.
struct Measurement {
  std::int64_t iterations = 0;
  std::int64_t steps = 0;   // of environments
  std::int64_t epochs = 0;  // carried out
  double seconds = 0.0;
  StageSeconds stages;

  double steps_per_second() const { return static_cast<double>(steps) / seconds; }
};

// Median (of an even number: the mean of the middle two) and ends.
struct Spread {
  double median = 0.0;
  double min = 0.0;
  double max = 0.0;
};
Spread spread_of(std::vector<double> values);  // one or more

// A case and what was measured of it.
struct BenchCase {
  std::string name;  // the file's stem
  std::string file;
  std::unique_ptr<Trainer> trainer;
  NetworkFlops flops;                    // of one sample
  std::size_t shared_bytes_per_env = 0;  // of a block, that ranks would pass on
  std::vector<FirstStep> first_steps;
  std::vector<Measurement> repeats;

  Spread steps_per_second() const;
  double flops_per_step() const;    // with the epochs that were carried out
  double flops_per_second() const;  // at the median speed
  Spread first_step_seconds() const;
  double peak_memory_bytes() const;   // median over the processes of first_steps
  StageSeconds stage_shares() const;  // of their sum
};

Result<BenchCase> make_case(const std::string& file, const Config& config, int threads);

// Iterations until `seconds` have passed, `least` of them at least. kInvalidConfig where the run is
// over before that.
Result<Measurement> measure(const BenchCase& bench_case, double seconds, int least);

}  // namespace broadloom::cli
