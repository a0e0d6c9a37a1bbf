#include "broadloom/learn/ratio_sums.h"

#include <limits>

namespace broadloom {

RatioSums RatioSums::undefined() {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return {kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
}

}  // namespace broadloom
