// How far advice goes: what would change it, and what it does not know.
#pragma once

#include <string>
#include <vector>

#include "research/advise/advice.h"

namespace broadloom {

// What would change the advice; of one that is kNothing, what may lead to another.
std::vector<std::string> doubt_sentences(const AdviceEvidence& evidence, const Advice& advice);

std::vector<std::string> unknown_sentences(const AdviceEvidence& evidence, const Advice& advice);

}  // namespace broadloom
