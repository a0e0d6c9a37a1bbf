// Numbers and settings of advice as its sentences, and what shows them, have them.
#pragma once

#include <string>

#include "research/advise/advice.h"

namespace broadloom {

std::string steps_text(double steps);   // "12,000"; of samples, too
std::string return_text(double value);  // "475", "-0.12", "-1,234"
// "0.42 s", "12,000 environment steps"
std::string cost_text(const AdviceEvidence& evidence, double cost);
// What was spent, in the unit of the budget.
std::string budget_text(const AdviceEvidence& evidence);
// "0.82 (0.60 to 0.95)"
std::string probability_text(const Estimate& p);
// `defaults`, where that is what they are: what the caller set is no default, though `train` would
// take it then.
std::string defaults_text(const AdviceEvidence& evidence, const char* defaults);

std::string runner_up_text(const AdviceEvidence& evidence, const RunnerUp& rival);

}  // namespace broadloom
