// The first things that a report says: what was varied on which task, and what came out.
#pragma once

#include <string>

#include "research/report/report_model.h"

namespace broadloom {

// "Shape N x T of a batch of 1,024 on CartPole-v1", "Learning rate and clip vloss on 2 tasks".
std::string heading_of(const StudyReport& report);

// One sentence, with what else changed where something did: the largest effect that the intervals
// allow, all else equal, among those that are more than chance; or that none was found, and how
// large a one they leave room for. Over several tasks it says what each of them says.
std::string answer_of(const StudyReport& report);

}  // namespace broadloom
