// The heading and first sentence of a report: what was varied on which task, and the result.
#pragma once

#include <string>
#include <utility>

#include "research/report/report_model.h"

namespace broadloom {

// "Shape N x T on CartPole-v1", "Learning rate and clip vloss on 2 tasks".
std::string heading_of(const StudyReport& report);

// The result in one sentence, of at most 30 words unless names are long. It states the largest
// effect beyond chance that the intervals allow; or that none was found, and how large one may be.
// docs/study.md has its five templates. The report's numbers must be complete.
std::string answer_of(const StudyReport& report);

// The two sides of neighbouring arms, such as {"larger learning_rate", "smaller learning_rate"}.
std::pair<std::string, std::string> sides_of(const LineCalls& calls);

}  // namespace broadloom
