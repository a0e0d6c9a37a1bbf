#include "broadloom/train/declared_numbers.h"

#include "broadloom/instruments/registry.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/train/episode_report.h"
#include "broadloom/train/step_sums.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

std::vector<NumberInfo> declared_numbers() {
  std::vector<NumberInfo> all = {kIterationInfo, kGlobalStepInfo};
  IterationReport report;
  declare_algorithm_numbers([&](const NumberInfo& info) { report.update.push_back({info, 0.0}); });
  visit_numbers(report, [&](const NumberInfo& info, auto) { all.push_back(info); });
  all.insert(all.end(), {kNumEnvsInfo, kNumStepsInfo, kFillerRowsInfo});
  all.insert(all.end(), {kStratumSuccess, kMeanLevel, kLevelShare, kRewardTerm, kMeasure});
  all.insert(all.end(), {kWallTimeInfo, kStepsPerSecondInfo});
  declare_instrument_numbers([&](const NumberInfo& info) { all.push_back(info); });
  return all;
}

}  // namespace broadloom
