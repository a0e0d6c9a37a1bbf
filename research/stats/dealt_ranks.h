// Ranks in random order, for permutation tests.
#pragma once

#include <cstdint>
#include <vector>

#include "broadloom/core/random.h"
#include "research/stats/bootstrap.h"

namespace broadloom {

// The ranks of the numbers, from 0, doubled so that ties have whole ranks, too.
std::vector<std::int64_t> doubled_ranks(const std::vector<double>& numbers);

// The stream of deal `replicate`; it depends only on the arguments.
Random random_of_deal(const BootstrapOptions& options, int replicate);

// Shuffles the ranks.
void deal(Random& random, std::vector<std::int64_t>& ranks);

}  // namespace broadloom
