// The result of one run of a study.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/evaluate/evaluator.h"

namespace broadloom {

// One point of a learning curve: the last report at or before `environment_steps`.
struct CurvePoint {
  int point = 0;                       // 1, 2, ...
  std::int64_t environment_steps = 0;  // of the grid; equal for all runs of one budget
  std::int64_t global_step = 0;        // of the report
  std::int64_t iteration = 0;          // of the report
  double seconds = 0.0;                // of training until then, without evaluations
  std::vector<std::pair<std::string, double>> values;  // named numbers; NaN: not available
};

struct RunRecord {
  std::int64_t id = 0;
  bool failed = false;
  bool lacked_memory = false;   // nothing is stored: another call may have more
  std::string error;            // if it failed
  std::string parameters_hash;  // of the bytes of the final parameters
  std::string isa;
  std::string started, finished;  // UTC, ISO 8601
  double seconds = 0.0;           // of training, without evaluations
  std::vector<CurvePoint> curve;
  std::vector<EvalResult> evaluations;
};

}  // namespace broadloom
