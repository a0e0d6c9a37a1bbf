// Texts of numbers and settings, shared by the sentences of advice and other displays.
#pragma once

#include <string>
#include <vector>

#include "research/advise/advice.h"

namespace broadloom {

std::string steps_text(double steps);   // "12,000"; also for samples
std::string return_text(double value);  // "475", "-0.12", "-1,234"
// "0.42 s", "12,000 environment steps". digits: of seconds below 100.
std::string cost_text(const AdviceEvidence& evidence, double cost, int digits = 2);
// The spent budget, in its unit.
std::string budget_text(const AdviceEvidence& evidence);
// "on this machine with 2 threads"
std::string place_text(const SpeedSource& source);
// "0.82 (0.60 to 0.95)"
std::string probability_text(const Estimate& p);
// `defaults`, with a qualification if the caller set any keys: those are not defaults, although
// `train` would use them.
std::string defaults_text(const AdviceEvidence& evidence, const char* defaults);

std::string runner_up_text(const AdviceEvidence& evidence, const RunnerUp& rival);

// The candidates of a race with the measurements behind them: a line for each measurement.
std::vector<std::string> tried_texts(const AdviceEvidence& evidence);

}  // namespace broadloom
