// The limits of advice: changes that would alter it, and its unknowns.
#pragma once

#include <string>
#include <vector>

#include "research/advise/advice.h"

namespace broadloom {

// Changes that would alter the advice. If there is none (kNothing), changes that may lead to some.
std::vector<std::string> doubt_sentences(const AdviceEvidence& evidence, const Advice& advice);

std::vector<std::string> unknown_sentences(const AdviceEvidence& evidence, const Advice& advice);

}  // namespace broadloom
