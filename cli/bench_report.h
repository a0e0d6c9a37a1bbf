// Results of `broadloom bench`, as a table and as JSON (docs/formats/bench.md).
#pragma once

#include <string>
#include <vector>

#include "cli/bench_case.h"

namespace broadloom::cli {

struct BenchReport {
  int threads = 1;
  double seconds = 1.0;  // minimum of one measurement
  int repeats = 1;
  double peak_flops = 0.0;  // operations per second of all threads together
  std::vector<BenchCase> cases;
};

void print_bench(const BenchReport& report);
std::string bench_json(const BenchReport& report);

}  // namespace broadloom::cli
