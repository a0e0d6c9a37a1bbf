// The sentences of advice, made from its numbers and the evidence alone.
#pragma once

#include <string>

#include "broadloom/advise/advice.h"

namespace broadloom {

// Fills in the texts of an advice whose numbers are there.
void add_words(const AdviceEvidence& evidence, Advice& advice);

std::string runner_up_text(const AdviceEvidence& evidence, const RunnerUp& rival);

// "0.42 s", "12,000 environment steps"
std::string cost_text(const AdviceEvidence& evidence, double cost);
std::string return_text(double value);  // "475", "-0.12", "-1,234"

}  // namespace broadloom
