// Every stream of random numbers is one that records describe and audits look at, or says here why
// not.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/purpose.h"
#include "broadloom/env/streams.h"
#include "broadloom/instruments/audit/streams.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/resolve_config.h"

namespace broadloom {
namespace {

enum class Place { kNowhere, kTraining, kEvaluation, kPanel, kElsewhere };

// No default: the compiler names a purpose that is forgotten here.
Place place_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::kInit:
    case Purpose::kShuffle:
    case Purpose::kTrainReset:
    case Purpose::kTrainStep:
    case Purpose::kAction:
    case Purpose::kStagger:
    case Purpose::kTrainStrata:
    case Purpose::kTrainDisturb:
    case Purpose::kCurriculum:
    case Purpose::kAnew:
    case Purpose::kRndTarget:
    case Purpose::kRndPredictor:
    case Purpose::kRndMask:
    case Purpose::kRndStart:
      return Place::kTraining;
    case Purpose::kEvalReset:
    case Purpose::kEvalStep:
    case Purpose::kEvalStrata:
    case Purpose::kEvalDisturb:
    case Purpose::kEvalAction:
      return Place::kEvaluation;
    case Purpose::kPanelReset:
    case Purpose::kPanelStep:
    case Purpose::kPanelStrata:
    case Purpose::kPanelDisturb:
      return Place::kPanel;
    case Purpose::kUser:
    case Purpose::kLaboratory:   // policies that do not learn
    case Purpose::kInstruments:  // on seeds of their own
    case Purpose::kBootstrap:    // after the runs
    case Purpose::kTerrain:      // ground, the same for all, on a seed of its own
      return Place::kElsewhere;
  }
  return Place::kNowhere;
}

std::set<std::uint32_t> at(Place place) {
  std::set<std::uint32_t> out;
  for (std::uint32_t p = 1; p < 256; ++p) {
    if (place_of(static_cast<Purpose>(p)) == place) out.insert(p);
  }
  return out;
}

TEST(Streams, OfTrainingAreAllKnownToTheAudit) {
  std::set<std::uint32_t> known;
  for (const StreamUse& use : training_streams(1, 8, 8)) known.insert(use.purpose);
  for (const std::string& name : algorithm_names()) {
    const Config config = resolve_config({{"algorithm", name}}).take();
    for (const AlgorithmStream& one : algorithm_streams(config)) {
      EXPECT_TRUE(known.insert(static_cast<std::uint32_t>(one.purpose)).second) << one.name;
    }
  }
  EXPECT_EQ(known, at(Place::kTraining));
}

TEST(Streams, OfEvaluationAreAllKnownToTheAudit) {
  std::set<std::uint32_t> known;
  for (const StreamUse& use : evaluation_streams(1, 8)) known.insert(use.purpose);
  EXPECT_EQ(known, at(Place::kEvaluation));
}

TEST(Streams, OfPanelsAreThoseOfTheirEnvironments) {
  const EnvStreams streams = env_streams(StreamSet::kPanel);
  std::set<std::uint32_t> known;
  for (const Purpose one : {streams.reset, streams.step, streams.strata, streams.disturb}) {
    known.insert(static_cast<std::uint32_t>(one));
  }
  EXPECT_EQ(known, at(Place::kPanel));
}

}  // namespace
}  // namespace broadloom
