// A measured number with its interval.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace broadloom {

// The confidence level of every interval.
inline constexpr double kConfidence = 0.95;

struct Estimate {
  double value = 0.0;
  double low = 0.0, high = 0.0;  // NaN if there is no interval
  std::int64_t count = 0;        // samples behind the value

  bool holds(double x) const { return low <= x && x <= high; }
};

// An estimate that is exact, or whose interval is unknown.
Estimate without_interval(double value, std::int64_t count);

// Success rate among `count` >= 1 independent trials, with Wilson's score interval (1927).
//
// The interval stays within [0, 1] and has a width even if all or no trials succeed. Its coverage
// is close to nominal (Brown, Cai and DasGupta 2001). The Clopper-Pearson interval covers more
// often than asked, and is wider.
Estimate success_rate(std::int64_t successes, std::int64_t count);

// Mean, exact for equal values; 0 for none.
double plain_mean(const std::vector<double>& values);

// Mean of at least one independent value, with the interval mean +- t standard errors. A single
// value has no interval.
Estimate mean_of(const std::vector<double>& values);

// Difference of two success rates over the same trials, second minus first. Arguments count the
// trials in which both succeeded, only the first, only the second, and neither; at least one in
// all.
//
// The interval is method 10 of Newcombe (1998, "Improved confidence intervals for the difference
// between binomial proportions based on paired data"). It joins Wilson's intervals of both rates
// with the trials' correlation phi. It thus has a width even if no trial distinguishes the two.
Estimate paired_rate_difference(std::int64_t both, std::int64_t first, std::int64_t second,
                                std::int64_t neither);

// Two-sided Student t quantile for kConfidence: P(|t| <= q) = 0.95 with `freedom` >= 1 degrees of
// freedom. Exact for 1 and 2. From 3 on, Abramowitz and Stegun (1964) 26.7.5, off by less than 0.1
// %.
double student_t(int freedom);

// Delete-a-group jackknife (Quenouille 1956, Tukey 1958). statistic(g) is the statistic of all
// groups but g, statistic(-1) that of all. The groups must be independent and of similar size.
//
// The interval is value +- t * sqrt((groups - 1) / groups * sum (s_g - mean s)^2). The value is
// statistic(-1), without the jackknife's bias correction.
Estimate jackknife(int groups, std::int64_t count, const std::function<double(int)>& statistic);

// The estimate with its interval widened to at least value +- t * error. t has groups - 1 degrees
// of freedom.
Estimate at_least(Estimate estimate, double error, int groups);

// Standard error from noise alone of U = 1 / (G (G - 1)) sum over g != h of <x_g, x_h>. U estimates
// |E x|^2.
//
// With S the covariance of the x_g, Var U = 4 (E x)' S (E x) / G + 2 Tr(S^2) / (G (G - 1)). This is
// Hoeffding's (1948) variance of a U-statistic of degree 2. The function returns the root of the
// second term. If E x is small, the jackknife does not help: it knows the first term, and the
// second only by chance (Efron and Stein 1981).
//
// products [groups * groups] = <x_g, x_h>, including the diagonal.
double noise_error(const std::vector<double>& products, int groups);

}  // namespace broadloom
