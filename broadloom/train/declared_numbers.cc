#include "broadloom/train/declared_numbers.h"

#include "broadloom/instruments/registry.h"
#include "broadloom/train/episode_report.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

std::vector<NumberInfo> declared_numbers() {
  std::vector<NumberInfo> all = {kIterationInfo, kGlobalStepInfo};
  visit_numbers(IterationReport(), [&](const NumberInfo& info, auto) { all.push_back(info); });
  all.insert(all.end(), {kNumEnvsInfo, kNumStepsInfo});
  all.insert(all.end(), {kStratumSuccess, kMeanLevel, kLevelShare});
  all.insert(all.end(), {kWallTimeInfo, kStepsPerSecondInfo});
  declare_instrument_numbers([&](const NumberInfo& info) { all.push_back(info); });
  return all;
}

}  // namespace broadloom
