// Every stream of random numbers is in the records and the audit, or listed here with a reason.
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

// Without a default, the compiler warns of a missing purpose.
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
    case Purpose::kFollowers:
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
    case Purpose::kLaboratory:   // its policies do not learn
    case Purpose::kInstruments:  // have their own seeds
    case Purpose::kBootstrap:    // used after the runs
    case Purpose::kTerrain:      // the same ground for all, with its own seed
      return Place::kElsewhere;
  }
  return Place::kNowhere;
}

std::set<std::uint32_t> purposes_at(Place place) {
  std::set<std::uint32_t> out;
  for (std::uint32_t p = 1; p < 256; ++p) {
    if (place_of(static_cast<Purpose>(p)) == place) out.insert(p);
  }
  return out;
}

TEST(Streams, TheAuditKnowsThoseOfTraining) {
  std::set<std::uint32_t> known;
  for (const StreamUse& use : training_streams(1, 8, 8)) known.insert(use.purpose);
  for (const std::string& name : algorithm_names()) {
    const Config config = resolve_config({{"algorithm", name}}).take();
    for (const AlgorithmStream& stream : algorithm_streams(config)) {
      EXPECT_TRUE(known.insert(static_cast<std::uint32_t>(stream.purpose)).second) << stream.name;
    }
  }
  EXPECT_EQ(known, purposes_at(Place::kTraining));
}

TEST(Streams, TheAuditKnowsThoseOfEvaluation) {
  std::set<std::uint32_t> known;
  for (const StreamUse& use : evaluation_streams(1, 8)) known.insert(use.purpose);
  EXPECT_EQ(known, purposes_at(Place::kEvaluation));
}

TEST(Streams, ThoseOfPanelsBelongToTheirEnvironments) {
  const EnvStreams streams = env_streams(StreamSet::kPanel);
  std::set<std::uint32_t> known;
  for (const Purpose purpose : {streams.reset, streams.step, streams.strata, streams.disturb}) {
    known.insert(static_cast<std::uint32_t>(purpose));
  }
  EXPECT_EQ(known, purposes_at(Place::kPanel));
}

}  // namespace
}  // namespace broadloom
