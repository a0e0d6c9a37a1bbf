// Random streams of environments: three sets that never share a stream, whatever the seeds.
#pragma once

#include "broadloom/core/purpose.h"

namespace broadloom {

enum class StreamSet {
  kTraining,
  kEvaluation,  // `broadloom eval`, evaluations made while training, probe states
  kPanel        // held-out panels
};

struct EnvStreams {
  Purpose reset, step, strata, disturb;
};

constexpr EnvStreams env_streams(StreamSet set) {
  switch (set) {
    case StreamSet::kEvaluation:
      return {Purpose::kEvalReset, Purpose::kEvalStep, Purpose::kEvalStrata, Purpose::kEvalDisturb};
    case StreamSet::kPanel:
      return {Purpose::kPanelReset, Purpose::kPanelStep, Purpose::kPanelStrata,
              Purpose::kPanelDisturb};
    default:
      return {Purpose::kTrainReset, Purpose::kTrainStep, Purpose::kTrainStrata,
              Purpose::kTrainDisturb};
  }
}

}  // namespace broadloom
