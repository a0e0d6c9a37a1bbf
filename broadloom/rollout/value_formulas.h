// The unit of a critic's outputs, for host and device; value_normalizer.h says how it is found.
#pragma once

#include "broadloom/core/host_device.h"
#include "broadloom/core/portable_math.h"

namespace broadloom {

// value = mean + deviation * output.
struct ValueUnit {
  double mean = 0.0, deviation = 1.0;
  double clip = portable::kInfinity;  // of outputs

  BROADLOOM_HD float output(float value) const {
    return static_cast<float>(clipped((static_cast<double>(value) - mean) / deviation));
  }
  BROADLOOM_HD float value(float output) const { return static_cast<float>(exact_value(output)); }
  BROADLOOM_HD double exact_value(double output) const {
    return clipped(output) * deviation + mean;
  }

 private:
  BROADLOOM_HD double clipped(double output) const {
    return output < -clip ? -clip : clip < output ? clip : output;
  }
};

// The units in which a critic learns a block: of the values it had, and of its targets.
struct LearntUnits {
  ValueUnit old_values, targets;
};

}  // namespace broadloom
