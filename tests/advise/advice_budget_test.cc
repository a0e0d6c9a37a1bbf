// The shares of a budget that phases may spend.
#include "research/advise/advice_budget.h"

#include <gtest/gtest.h>

namespace broadloom {
namespace {

TEST(AdviceBudget, PhasesAreSharesOfTheWhole) {
  const AdviceBudget total_budget(80.0, 1000, {}, {});
  const PhaseBudget phase = total_budget.phase(0.5, 0.25);
  EXPECT_DOUBLE_EQ(phase.end_seconds, 40.0);
  EXPECT_EQ(phase.steps, 250);
}

TEST(AdviceBudget, TheRestExcludesTheReserve) {
  AdviceBudget total_budget(80.0, 1000, {}, {});
  total_budget.add_steps(400);
  EXPECT_EQ(total_budget.rest(1.0, 0.25).steps, 350);
  EXPECT_EQ(total_budget.rest(0.5, 0.25).steps, 175);
  EXPECT_NEAR(total_budget.rest(1.0, 0.25).end_seconds, 60.0, 1e-6);
  total_budget.add_steps(500);
  EXPECT_EQ(total_budget.rest(1.0, 0.25).steps, 0) << "the reserve is touched already";
}

TEST(AdviceBudget, OnceStoppedItStaysOver) {
  bool stop = false;
  const AdviceBudget total_budget(80.0, 1000, [&] { return stop; }, {});
  EXPECT_FALSE(total_budget.is_over());
  stop = true;
  EXPECT_TRUE(total_budget.is_over());
  stop = false;
  EXPECT_TRUE(total_budget.is_over() && total_budget.was_stopped());
}

}  // namespace
}  // namespace broadloom
