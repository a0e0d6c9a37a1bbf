// What is launched, in words for the terminal.
#pragma once

#include <string>

#include "research/study/queue_launcher.h"

namespace broadloom {

// How many runs in how many jobs, what each job may take, what the runs are predicted to take and
// how that is known; and, where a job has less time than its runs should have, that.
std::string launch_words(const JobQueue& queue, const StudyPlan& plan, const LaunchPlan& planned,
                         const LaunchOptions& options);

}  // namespace broadloom
