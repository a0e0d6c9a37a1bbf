// Describes a launch in words for the terminal.
#pragma once

#include <string>

#include "research/study/queue_launcher.h"

namespace broadloom {

// Number of runs and jobs, limits of a job, predicted time and its source; a warning if a job's
// time limit is too short for its runs.
std::string launch_words(const JobQueue& queue, const StudyPlan& plan, const LaunchPlan& planned,
                         const LaunchOptions& options);

}  // namespace broadloom
