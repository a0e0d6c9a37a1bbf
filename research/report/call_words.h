// How often neighbours are told apart which way, over all settings of the rest.
#pragma once

#include <string>

#include "research/report/report_lines.h"

namespace broadloom {

// "Of two learning_rate, neighbours that are equal in all else, the larger is called better in 11
// of 84 pairs and the smaller in 0; by chance at most 2.1 each would be."
std::string calls_sentence(const LineCalls& calls);

// How likely one of the two sides would be called better in as many pairs by chance at most, if the
// pairs were independent: twice the upper tail of a binomial distribution of half of 5 %, up to 1.
double chance_of(const LineCalls& calls);

}  // namespace broadloom
