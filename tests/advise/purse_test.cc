// What phases may spend of a budget.
#include "research/advise/purse.h"

#include <gtest/gtest.h>

namespace broadloom {
namespace {

TEST(Purse, PhasesAreSharesOfTheWhole) {
  const Purse purse(80.0, 1000, {}, {});
  const PhaseBudget phase = purse.phase(0.5, 0.25);
  EXPECT_DOUBLE_EQ(phase.end_seconds, 40.0);
  EXPECT_EQ(phase.steps, 250);
}

TEST(Purse, TheRestIsWhatIsLeftBeforeWhatIsReserved) {
  Purse purse(80.0, 1000, {}, {});
  purse.add_steps(400);
  EXPECT_EQ(purse.rest(1.0, 0.25).steps, 350);
  EXPECT_EQ(purse.rest(0.5, 0.25).steps, 175);
  EXPECT_NEAR(purse.rest(1.0, 0.25).end_seconds, 60.0, 1e-6);
  purse.add_steps(500);
  EXPECT_EQ(purse.rest(1.0, 0.25).steps, 0) << "the reserve is touched already";
}

TEST(Purse, StoppedItIsOverForGood) {
  bool stop = false;
  const Purse purse(80.0, 1000, [&] { return stop; }, {});
  EXPECT_FALSE(purse.is_over());
  stop = true;
  EXPECT_TRUE(purse.is_over());
  stop = false;
  EXPECT_TRUE(purse.is_over() && purse.was_stopped());
}

}  // namespace
}  // namespace broadloom
