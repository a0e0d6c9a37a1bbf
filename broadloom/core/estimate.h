// A measured number with its interval.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace broadloom {

// The confidence of every interval.
inline constexpr double kConfidence = 0.95;

struct Estimate {
  double value = 0.0;
  double low = 0.0, high = 0.0;  // not numbers where there is no interval
  std::int64_t count = 0;        // what it was averaged over

  bool holds(double x) const { return low <= x && x <= high; }
};

// An estimate that is known exactly or has no interval.
Estimate without_interval(double value, std::int64_t count);

// The rate of `successes` among `count` >= 1 independent trials, with the score interval of Wilson
// (1927). It keeps within [0, 1], has a width where all or none succeed, and covers the rate about
// as often as it says (Brown, Cai and DasGupta 2001), where that of Clopper and Pearson covers it
// more often than asked and is wider for it.
Estimate success_rate(std::int64_t successes, std::int64_t count);

// The mean of independent values, with mean +- t standard errors; no interval for a single one.
// values: at least one.
Estimate mean_of(const std::vector<double>& values);

// How two rates of the same trials differ: trials in which both succeeded, the first alone, the
// second alone, neither; at least one in all. The value is second minus first. The interval is
// method 10 of Newcombe (1998, "Improved confidence intervals for the difference between binomial
// proportions based on paired data"): Wilson's intervals of both rates, joined with the trials'
// correlation phi, so that it has a width where no trial tells the two apart.
Estimate paired_rate_difference(std::int64_t both, std::int64_t first, std::int64_t second,
                                std::int64_t neither);

// Two-sided Student t quantile for kConfidence: P(|t| <= q) = 0.95 with `freedom` >= 1 degrees of
// freedom. Abramowitz and Stegun 1964, 26.7.5 from 3 on (off by less than 0.1 %), exact below.
double student_t(int freedom);

// Delete-a-group jackknife (Quenouille 1956, Tukey 1958): statistic(g) is the statistic of all
// groups but g, statistic(-1) that of all. The groups must be independent and alike in size. The
// interval is value +- t * sqrt((groups - 1) / groups * sum (s_g - mean s)^2); the value is
// statistic(-1), without the jackknife's correction of bias.
Estimate jackknife(int groups, std::int64_t count, const std::function<double(int)>& statistic);

// The estimate with its interval made at least value +- t * error wide, t of groups - 1 degrees of
// freedom.
Estimate at_least(Estimate estimate, double error, int groups);

// The standard error that U = 1 / (G (G - 1)) sum over g != h of <x_g, x_h>, an estimate of |E
// x|^2, has from noise alone: with S the covariance of the x_g, Var U = 4 (E x)' S (E x) / G + 2
// Tr(S^2) / (G (G - 1)) (Hoeffding 1948, for a U-statistic of degree 2), and this is the second
// term's root. Where E x is small, the jackknife is of no use: it knows the first term, and the
// second only by chance (Efron and Stein 1981). products [groups * groups] = <x_g, x_h>, the
// diagonal included.
double noise_error(const std::vector<double>& products, int groups);

}  // namespace broadloom
