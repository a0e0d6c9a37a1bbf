// Whether several groups of numbers differ significantly from groups of one distribution.
#pragma once

#include <vector>

#include "research/stats/bootstrap.h"

namespace broadloom {

// The test of Kruskal and Wallis (1952), by permutations. The p-value is the chance of mean ranks
// at least as far apart if the numbers are dealt to the groups at random. Ties have the mean of
// their ranks.
//
// The result is (as far apart + 1) / (replicates + 1), so never zero. For two groups it is their
// pair test. groups: two or more, none empty, all numbers finite. options.threads is not used.
// O(replicates * numbers).
double rank_test(const std::vector<std::vector<double>>& groups, const BootstrapOptions& options);

}  // namespace broadloom
