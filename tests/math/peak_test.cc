// sanitizers: address, threads
#include "broadloom/math/peak.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "broadloom/math/isa.h"

namespace broadloom {
namespace {

constexpr double kLeast = 1e7;  // without optimisation, under a sanitizer, beside other work

TEST(Peak, IsWhatAProcessorCanDo) {
  for (const int threads : {1, 2}) {
    const double flops = measure_peak_flops(threads);
    EXPECT_TRUE(std::isfinite(flops));
    EXPECT_GT(flops, kLeast);
    EXPECT_LT(flops, 1e12 * threads) << "the compiler has left out part of the work";
  }
}

TEST(Peak, FollowsTheInstructionSet) {
  for (const std::string& isa : supported_isas()) {
    SCOPED_TRACE(isa);
    ASSERT_TRUE(set_isa(isa).ok());
    const double flops = measure_peak_flops(1);
    EXPECT_TRUE(std::isfinite(flops));
    EXPECT_GT(flops, kLeast / 10.0);
  }
  ASSERT_TRUE(set_isa("auto").ok());
}

}  // namespace
}  // namespace broadloom
