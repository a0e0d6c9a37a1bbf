// Numbers in the JSON of reports.
#pragma once

#include "broadloom/core/estimate.h"
#include "broadloom/record/json.h"

namespace broadloom {

// Rounds to six significant digits, more than any interval here can resolve. Numbers that are not
// finite become NaN, which JSON writes as null.
double six_digits(double x);

// {"value", "low", "high", "count"}.
Json estimate_json(const Estimate& e);

}  // namespace broadloom
