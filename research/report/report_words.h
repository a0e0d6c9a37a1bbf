// A report's numbers in words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// "31 [25, 38]", with as many digits as the interval can tell apart; "31.25" without an interval.
std::string estimate_words(const Estimate& e);

// A size in two digits: "35", "0.12", "1,200".
std::string size_words(double size);

// "0.93 [0.81, 0.99]"; "0.93" without an interval.
std::string probability_words(const Estimate& e);

const char* score_words(ReportScore score);  // "training return"

// "N = 128, T = 8", with what else tells arms apart; the name where all have the same shape.
std::string arm_words(const StudyReport& report, int arm);

// "a, b and c"; more than `most` of them: "a, b and 5 others".
std::string list_words(const std::vector<std::string>& items, std::size_t most);

// "1 run", "3 runs".
std::string count_words(std::int64_t count, const std::string& what);

// "CartPole-v1", or "3 tasks".
std::string task_words(const StudyReport& report, const std::vector<int>& tasks);

}  // namespace broadloom
