// Discrete observations: environments write an index, and rows are one-hot.
#pragma once

#include <cmath>
#include <string>

#include "broadloom/core/host_device.h"
#include "broadloom/core/status.h"

namespace broadloom {

// Expands the index in row[0] to one-hot in place: [n]. Returns false for an invalid index, whose
// row becomes NaN, so that every check for finite numbers finds it.
BROADLOOM_HD inline bool make_one_hot(float* row, int n) {
  const float index = row[0];
  const bool is_valid = index >= 0.0f && index < static_cast<float>(n) &&
                        index == static_cast<float>(static_cast<int>(index));
  for (int i = 0; i < n; ++i) row[i] = is_valid ? 0.0f : NAN;
  if (is_valid) row[static_cast<int>(index)] = 1.0f;
  return is_valid;
}

// The error of a function of environment type `id` that wrote an invalid index.
Status invalid_index(const char* function, const std::string& id, float index, int env, int n);

}  // namespace broadloom
