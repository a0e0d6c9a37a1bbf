// The first things that a report says: what was varied on which task, and what came out.
#pragma once

#include <string>
#include <utility>

#include "research/report/report_model.h"

namespace broadloom {

// "Shape N x T on CartPole-v1", "Learning rate and clip vloss on 2 tasks".
std::string heading_of(const StudyReport& report);

// One sentence of 30 words at most, unless names are long: the largest effect that the intervals
// allow among those that are more than chance; or that none was found, and how large one may be.
// docs/study.md has its five templates. Takes a report whose numbers are complete.
std::string answer_of(const StudyReport& report);

// The two sides of neighbouring arms: {"larger learning_rate", "smaller learning_rate"}.
std::pair<std::string, std::string> sides_of(const LineCalls& calls);

}  // namespace broadloom
