#include "broadloom/core/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

// Quantiles of Student's t at 0.975, from the tables of Abramowitz and Stegun 1964, table 26.10.
TEST(StudentT, AgreesWithTheTable) {
  EXPECT_NEAR(student_t(1), 12.706, 1e-3);
  EXPECT_NEAR(student_t(2), 4.303, 1e-3);
  EXPECT_NEAR(student_t(3), 3.182, 4e-3);
  EXPECT_NEAR(student_t(5), 2.571, 1e-3);
  EXPECT_NEAR(student_t(10), 2.228, 1e-3);
  EXPECT_NEAR(student_t(30), 2.042, 1e-3);
  EXPECT_NEAR(student_t(120), 1.980, 1e-3);
}

// Wilson's interval holds all rates p that the score test accepts: its ends solve
// (rate - p)^2 = z^2 p (1 - p) / n.
TEST(SuccessRate, EndsSolveTheScoreTest) {
  for (const auto& [successes, count] : {std::pair{1, 10}, {81, 263}, {99, 100}, {500, 1000}}) {
    const Estimate rate = success_rate(successes, count);
    EXPECT_EQ(rate.value, double(successes) / count);
    EXPECT_EQ(rate.count, count);
    for (const double p : {rate.low, rate.high}) {
      const double z2 = (rate.value - p) * (rate.value - p) * count / (p * (1.0 - p));
      EXPECT_NEAR(std::sqrt(z2), 1.959964, 1e-6);
    }
    EXPECT_LT(rate.low, rate.value);
    EXPECT_GT(rate.high, rate.value);
  }
  EXPECT_EQ(success_rate(0, 20).low, 0.0);
  EXPECT_NEAR(success_rate(0, 20).high, 0.161125, 1e-6);  // z^2 / (n + z^2)
  EXPECT_EQ(success_rate(20, 20).high, 1.0);
  EXPECT_NEAR(success_rate(20, 20).low, 1.0 - 0.161125, 1e-6);
}

TEST(MeanOf, HasStudentsInterval) {
  const Estimate mean = mean_of({1.0, 2.0, 3.0, 6.0});
  EXPECT_EQ(mean.value, 3.0);
  const double half = student_t(3) * std::sqrt((4.0 + 1.0 + 0.0 + 9.0) / 3.0 / 4.0);
  EXPECT_NEAR(mean.low, 3.0 - half, 1e-12);
  EXPECT_NEAR(mean.high, 3.0 + half, 1e-12);
  EXPECT_EQ(mean_of({2.0}).value, 2.0);
  // A run stops at a return that all episodes have, and that return has no spread.
  for (const double x : {1.0, -1.0, 10.0, 21.0, 200.0, 475.0, 0.1}) {
    for (const std::size_t count : {10u, 20u, 30u, 50u, 100u, 500u, 1000u}) {
      const Estimate equal = mean_of(std::vector<double>(count, x));
      EXPECT_EQ(equal.value, x);
      EXPECT_EQ(equal.low, x);
      EXPECT_EQ(equal.high, x);
    }
  }
  EXPECT_TRUE(std::isnan(mean_of({2.0}).low));
}

// Newcombe's own example: 36 pairs of both, 12 and 2 of only one, none of neither; his method 10
// gives
// 0.0569 to 0.3404.
TEST(PairedRates, AgreeWithNewcombesExample) {
  const Estimate difference = paired_rate_difference(36, 2, 12, 0);
  EXPECT_NEAR(difference.value, 0.2, 1e-12);
  EXPECT_NEAR(difference.low, 0.0569, 5e-5);
  EXPECT_NEAR(difference.high, 0.3404, 5e-5);
  const Estimate reversed = paired_rate_difference(36, 12, 2, 0);
  EXPECT_NEAR(reversed.low, -difference.high, 1e-12);
  EXPECT_NEAR(reversed.high, -difference.low, 1e-12);
}

TEST(PairedRates, HaveAWidthEvenIfPairsNeverDiffer) {
  const Estimate alike = paired_rate_difference(30, 0, 0, 0);
  EXPECT_EQ(alike.value, 0.0);
  EXPECT_LT(alike.low, -0.05);
  EXPECT_GT(alike.high, 0.05);
}

// The interval holds the true difference as often as it should, for correlated pairs.
TEST(PairedRates, CoverTheTruth) {
  constexpr int kStudies = 4000, kPairs = 60;
  int held = 0;
  for (int study = 0; study < kStudies; ++study) {
    Random random(3, Purpose::kUser, 0, study);
    std::int64_t counts[4] = {};
    for (int pair = 0; pair < kPairs; ++pair) {
      const double u = random.uniform();  // both 0.6, first 0.05, second 0.15, neither 0.2
      counts[u < 0.6 ? 0 : u < 0.65 ? 1 : u < 0.8 ? 2 : 3] += 1;
    }
    held += paired_rate_difference(counts[0], counts[1], counts[2], counts[3]).holds(0.1) ? 1 : 0;
  }
  EXPECT_GT(held, 0.93 * kStudies);
  EXPECT_LT(held, 0.98 * kStudies);
}

// For a mean of single values, the jackknife gives the usual standard error.
TEST(Jackknife, EqualsTheStandardErrorOfAMean) {
  const std::vector<double> x{1.0, 4.0, -2.0, 7.5, 3.0, 0.5};
  const int n = static_cast<int>(x.size());
  double mean = 0.0, squares = 0.0;
  for (const double v : x) mean += v / n;
  for (const double v : x) squares += (v - mean) * (v - mean);
  const double error = std::sqrt(squares / (n - 1) / n);
  const Estimate e = jackknife(n, 42, [&](int left_out) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += i == left_out ? 0.0 : x[static_cast<std::size_t>(i)];
    return sum / (left_out < 0 ? n : n - 1);
  });
  EXPECT_NEAR(e.value, mean, 1e-12);
  EXPECT_NEAR(e.high - e.value, student_t(n - 1) * error, 1e-12);
  EXPECT_NEAR(e.value - e.low, student_t(n - 1) * error, 1e-12);
  EXPECT_EQ(e.count, 42);
  EXPECT_TRUE(e.holds(mean));
  EXPECT_FALSE(e.holds(mean + 2.0 * (e.high - mean)));
}

// Vectors of d independent normal numbers with mean m: U estimates d m^2. Its interval must hold
// that as often as it should, with and without a mean. The jackknife alone fails at m = 0.
TEST(NoiseError, MakesIntervalsOfSquaredNormsCorrect) {
  constexpr int kGroups = 32, kDimension = 5, kRepeats = 400;
  for (const double m : {0.0, 0.1, 1.0}) {
    int held = 0, by_jackknife = 0;
    Random random(3, Purpose::kUser, 0, 0);
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      std::vector<std::vector<double>> x(kGroups, std::vector<double>(kDimension));
      for (auto& row : x) {
        for (double& v : row) v = m + random.normal();
      }
      std::vector<double> products(kGroups * kGroups);
      for (int g = 0; g < kGroups; ++g) {
        for (int h = 0; h < kGroups; ++h) {
          for (int d = 0; d < kDimension; ++d) products[g * kGroups + h] += x[g][d] * x[h][d];
        }
      }
      const Estimate e = jackknife(kGroups, kGroups, [&](int left_out) {
        double sum = 0.0, pairs = 0.0;
        for (int g = 0; g < kGroups; ++g) {
          for (int h = 0; h < kGroups; ++h) {
            if (g == h || g == left_out || h == left_out) continue;
            sum += products[g * kGroups + h];
            pairs += 1.0;
          }
        }
        return sum / pairs;
      });
      by_jackknife += e.holds(kDimension * m * m);
      held += at_least(e, noise_error(products, kGroups), kGroups).holds(kDimension * m * m);
    }
    EXPECT_GE(held, 0.93 * kRepeats) << m;
    if (m == 0.0) EXPECT_LT(by_jackknife, held);
  }
}

TEST(Jackknife, HasNoIntervalForOneGroup) {
  const Estimate e = jackknife(1, 1, [](int) { return 3.0; });
  EXPECT_EQ(e.value, 3.0);
  EXPECT_TRUE(std::isnan(e.low));
  EXPECT_FALSE(e.holds(3.0));
}

}  // namespace
}  // namespace broadloom
