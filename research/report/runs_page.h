// A page for a group of runs: their learning curves, returns and settings side by side.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

struct RunsPage {
  std::string html;                // loads nothing and has no scripts
  std::vector<std::string> notes;  // sentences: what else lets lines differ
};

// One section for each task. Runs of equal settings are averaged over their seeds; the intervals
// are those of mean_of(). folder: of the page, from which its links to the runs start. A sentence
// stands for a figure of too many lines, and for a task whose runs read_curves() refuses.
Result<RunsPage> runs_page(const std::vector<std::string>& run_dirs, const std::string& folder);

}  // namespace broadloom
