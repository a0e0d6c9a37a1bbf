// The settings to train with, and when they reach the threshold.
#pragma once

#include <string>

#include "research/advise/advice.h"

namespace broadloom {

std::string answer_text(const AdviceEvidence& evidence, const Advice& advice);
std::string expected_text(const AdviceEvidence& evidence, const Advice& advice);

}  // namespace broadloom
