// Ranks that are dealt anew at random: what tests by permutations are made of.
#pragma once

#include <cstdint>
#include <vector>

#include "broadloom/core/random.h"
#include "research/stats/bootstrap.h"

namespace broadloom {

// The ranks of the numbers, from 0 on, doubled so that they are whole with ties, too.
std::vector<std::int64_t> doubled_ranks(const std::vector<double>& numbers);

// What deal `replicate` draws from: a function of its arguments only.
Random random_of_deal(const BootstrapOptions& options, int replicate);

// Puts the ranks in a random order.
void deal(Random& random, std::vector<std::int64_t>& ranks);

}  // namespace broadloom
