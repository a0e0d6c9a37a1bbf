// Numbers as the JSON of reports holds them.
#pragma once

#include "broadloom/core/estimate.h"
#include "broadloom/record/json.h"

namespace broadloom {

// Six significant digits: more than any interval here can tell apart. What is not finite becomes
// not-a-number, which JSON writes as null.
double six_digits(double x);

// value, low, high, count.
Json estimate_json(const Estimate& e);

}  // namespace broadloom
