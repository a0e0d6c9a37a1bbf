#include "broadloom/core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>
#include <vector>

namespace broadloom {
namespace {

// Random123's published known answers for philox4x32-10.
TEST(Random, PhiloxKnownAnswers) {
  using Philox = r123::Philox4x32;
  const Philox::ctr_type zero = Philox()(Philox::ctr_type{}, Philox::key_type{});
  EXPECT_EQ(zero[0], 0x6627e8d5u);
  EXPECT_EQ(zero[1], 0xe169c58du);
  EXPECT_EQ(zero[2], 0xbc57ac4cu);
  EXPECT_EQ(zero[3], 0x9b00dbd8u);
}

TEST(Random, StreamsOfDifferentNamesDiffer) {
  std::set<std::vector<std::uint32_t>> seen;
  int streams = 0;
  const auto take = [&](std::uint64_t seed, Purpose purpose, std::uint32_t lane,
                        std::uint64_t index) {
    Random random(seed, purpose, lane, index);
    std::vector<std::uint32_t> draws;
    for (int i = 0; i < 4; ++i) draws.push_back(random.bits32());
    seen.insert(draws);
    ++streams;
  };
  for (const std::uint64_t seed : {0ull, 1ull, 1ull << 32}) {
    for (int purpose = 1; purpose <= 9; ++purpose) {
      for (const std::uint32_t lane : {0u, 1u, 1u << 24}) {
        for (const std::uint64_t index : {0ull, 1ull, 1ull << 32, (1ull << 56) - 1}) {
          take(seed, static_cast<Purpose>(purpose), lane, index);
        }
      }
    }
  }
  EXPECT_EQ(static_cast<int>(seen.size()), streams);
}

// Five standard errors of each moment; the seed is fixed.
TEST(Random, DistributionsHaveTheirMoments) {
  constexpr int kDraws = 200000;
  Random random(3, Purpose::kUser, 0, 0);
  double uniform = 0.0, normal = 0.0, square = 0.0, fourth = 0.0;
  std::vector<int> counts(7, 0);
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    const double z = random.normal();
    uniform += u / kDraws;
    normal += z / kDraws;
    square += z * z / kDraws;
    fourth += z * z * z * z / kDraws;
    ++counts[random.below(7)];
  }
  const double unit = 5.0 / std::sqrt(static_cast<double>(kDraws));
  EXPECT_NEAR(uniform, 0.5, unit * std::sqrt(1.0 / 12.0));
  EXPECT_NEAR(normal, 0.0, unit);
  EXPECT_NEAR(square, 1.0, unit * std::sqrt(2.0));
  EXPECT_NEAR(fourth, 3.0, unit * std::sqrt(96.0));
  for (const int count : counts) {
    EXPECT_NEAR(count, kDraws / 7.0, 5.0 * std::sqrt(kDraws * 6.0 / 49.0));
  }
}

}  // namespace
}  // namespace broadloom
