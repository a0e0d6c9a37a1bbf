// Numbers as the JSON of reports holds them.
#pragma once

#include "broadloom/math/estimate.h"

namespace broadloom {

// Six significant digits: more than any interval here can tell apart. What is not finite becomes
// not-a-number, which nlohmann-json writes as null.
double six_digits(double x);

// value, low, high, count. Json: nlohmann's, which stays out of headers.
template <class Json>
Json estimate_json(const Estimate& e) {
  return Json{{"value", six_digits(e.value)},
              {"low", six_digits(e.low)},
              {"high", six_digits(e.high)},
              {"count", e.count}};
}

}  // namespace broadloom
