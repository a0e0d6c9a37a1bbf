// What one run of a study came to.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/evaluate/evaluator.h"

namespace broadloom {

// One point of a learning curve: what was last reported at or before so many environment steps.
struct CurvePoint {
  int point = 0;                       // 1, 2, ...
  std::int64_t environment_steps = 0;  // of the grid, which all runs of one budget share
  std::int64_t global_step = 0;        // of the report
  std::int64_t iteration = 0;          // of the report
  double seconds = 0.0;                // of training until then, evaluations left out
  std::vector<std::pair<std::string, double>> values;  // any named numbers; NaN: none there
};

struct RunRecord {
  std::int64_t id = 0;
  bool failed = false;
  std::string error;            // where it failed
  std::string parameters_hash;  // of the final parameters' bytes
  std::string isa;
  std::string started, finished;  // UTC, ISO 8601
  double seconds = 0.0;           // of training, evaluations left out
  std::vector<CurvePoint> curve;
  std::vector<EvalResult> evaluations;
};

}  // namespace broadloom
