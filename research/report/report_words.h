// Numbers and words for sentences, notes and tables of a report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// "31 [25, 38]", with digits that fit the interval; "31.25" without one.
std::string estimate_words(const Estimate& e);

// A size with two digits: "35", "0.12", "1,200".
std::string size_words(double size);

// "0.93 [0.81, 0.99]"; "0.93" without an interval.
std::string probability_words(const Estimate& e);

const char* score_words(ReportScore score);  // "training return"

// "a, b and c"; for more than `most` items: "a, b and 5 others".
std::string list_words(const std::vector<std::string>& items, std::size_t most);

// "1 run", "3 runs".
std::string count_words(std::int64_t count, const std::string& noun);

// The names of tasks; for more than three: "5 tasks".
std::string task_words(const StudyReport& report, const std::vector<int>& tasks);
std::string task_words(const StudyReport& report);  // all tasks

// The key that a line varies: "N", "T", "learning_rate" or "settings".
std::string key_words(LineKind kind, const std::string& key);

// One value on a line: "N = 8", "learning_rate=0.001", or a variant's settings.
std::string value_words(const ReportLine& line, std::size_t place);

// Parts of an arm's name, parted by blanks; keys: those that tell one of these keys. Empty: all.
std::string part_words(const std::vector<ArmPart>& parts, const std::set<std::string>& keys = {});

// Values that all of these arms share, of keys that vary elsewhere: "B = 64, clip_vloss=true"; ""
// for none.
std::string held_words(const StudyReport& report, const std::vector<int>& arms);

}  // namespace broadloom
