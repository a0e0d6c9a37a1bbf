// What a report's lines say, in words: where the score is level, where it is lower, by how much.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// One line on each task that has it.
using LineOnTasks = std::vector<const ReportLine*>;

// Lines of one kind through the same arms, in the order of report.lines; where no arm has two
// tasks, through the same values with the same rest.
std::vector<LineOnTasks> lines_on_tasks(const StudyReport& report);

// Whether it is N or T that varies.
bool is_of_shape(const ReportLine& line);

// "N", "T", "learning_rate", "settings": what varies along it.
std::string varied_words(const ReportLine& line);

// "level from N = 2 to 8 and lower from 32 on", "higher with clip_vloss = false than with
// clip_vloss = true"; of lines without a difference "".
std::string reading_words(const ReportLine& line);

// The line on all of its tasks as one sentence. Tasks that say the same are named together; where
// one says the opposite of another, that is said first. Brief: without what the level ones leave
// open.
std::string line_sentence(const StudyReport& report, const LineOnTasks& line, bool brief = false);

// The largest difference that the intervals of lines without one leave room for; 0 where there are
// no intervals.
double room_of(const ReportLine& line);

// Whether the tasks of a line tell two of its arms apart in opposite directions.
bool opposite(const StudyReport& report, const LineOnTasks& line);

}  // namespace broadloom
