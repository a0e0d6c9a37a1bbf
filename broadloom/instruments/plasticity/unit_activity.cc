#include "broadloom/instruments/plasticity/unit_activity.h"

#include <algorithm>
#include <cmath>

namespace broadloom {
namespace {

constexpr double kDormant = 1e-5;
constexpr double kTau = 0.025;
constexpr double kScoreEpsilon = 1e-9;
constexpr double kConstant = 1e-3;

double deviation(const UnitSums& sums, int rows) {
  const double mean = sums.outputs / rows;
  return std::sqrt(std::max(0.0, sums.squares / rows - mean * mean));
}

}  // namespace

void IdleUnits::add(const IdleUnits& other) {
  units += other.units;
  dormant += other.dormant;
  tau_dormant += other.tau_dormant;
  silent += other.silent;
  constant += other.constant;
}

IdleUnits count_idle(std::span<const UnitSums> layer, int rows) {
  IdleUnits idle;
  idle.units = static_cast<int>(layer.size());
  double total = 0.0;
  for (const UnitSums& sums : layer) total += sums.sizes / rows;
  const double average = total / static_cast<double>(layer.size()) + kScoreEpsilon;
  for (const UnitSums& sums : layer) {
    const double size = sums.sizes / rows;
    idle.dormant += size < kDormant ? 1 : 0;
    idle.tau_dormant += size / average <= kTau ? 1 : 0;
    idle.silent += size == 0.0 ? 1 : 0;
    idle.constant += deviation(sums, rows) < kConstant ? 1 : 0;
  }
  return idle;
}

}  // namespace broadloom
