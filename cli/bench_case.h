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

// Training iterations, timed by the wall clock.
struct Measurement {
  std::int64_t iterations = 0;
  std::int64_t steps = 0;   // environment steps
  std::int64_t epochs = 0;  // epochs that ran; an early stop skips some
  double seconds = 0.0;
  StageSeconds stages;

  double steps_per_second() const { return static_cast<double>(steps) / seconds; }
};

// Median (of an even number: the mean of the middle two), smallest and largest value.
struct Spread {
  double median = 0.0;
  double min = 0.0;
  double max = 0.0;
};
Spread spread_of(std::vector<double> values);  // at least one value

// A case and its measurements.
struct BenchCase {
  std::string name;  // the file's stem
  std::string file;
  std::unique_ptr<Trainer> trainer;
  NetworkFlops flops;                    // of one sample
  std::size_t shared_bytes_per_env = 0;  // bytes of a block that ranks would exchange
  std::vector<FirstStep> first_steps;
  std::vector<Measurement> repeats;

  Spread steps_per_second() const;
  double flops_per_step() const;    // counts the epochs that ran
  double flops_per_second() const;  // at the median speed
  Spread first_step_seconds() const;
  double peak_memory_bytes() const;   // median over first_steps
  StageSeconds stage_shares() const;  // each stage's share of all stages
};

Result<BenchCase> make_case(const std::string& file, const Config& config, int threads);

// Runs iterations until `seconds` have passed, and at least `min_iterations`. kInvalidConfig if the
// run ends before that.
Result<Measurement> measure(const BenchCase& bench_case, double seconds, int min_iterations);

}  // namespace broadloom::cli
