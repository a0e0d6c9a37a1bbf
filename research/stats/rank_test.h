// Whether several groups of numbers can be told from groups of one distribution.
#pragma once

#include <vector>

#include "research/stats/bootstrap.h"

namespace broadloom {

// The test of Kruskal and Wallis (1952) by permutations: how likely groups whose mean ranks lie as
// far apart arise where the numbers are dealt to the groups at random. Ties have the mean of their
// ranks. (as far apart + 1) / (replicates + 1), so never zero; of two groups it is their pair test.
// groups: two or more, none empty, numbers finite. options.threads is not used.
// O(replicates * numbers).
double rank_test(const std::vector<std::vector<double>>& groups, const BootstrapOptions& options);

}  // namespace broadloom
